//! Reading of the kernel's and the distribution's texts. Pure: text in, value out.

/// The processor model of `/proc/cpuinfo`. Each architecture has its own name for it.
pub(super) fn cpu_model(cpuinfo: &str) -> Option<String> {
    [
        "model name",
        "Model",
        "Hardware",
        "cpu model",
        "uarch",
        "cpu",
    ]
    .iter()
    .find_map(|name| field(cpuinfo, name))
    .map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "))
    .filter(|model| !model.is_empty())
}

/// Whether `/proc/cpuinfo` shows a hypervisor. Only x86 tells: elsewhere none.
pub(super) fn virtualized(cpuinfo: &str) -> Option<bool> {
    let flags = field(cpuinfo, "flags")?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
pub(super) fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kibibytes = field(meminfo, "MemTotal")?.strip_suffix("kB")?.trim();
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}

/// `PRETTY_NAME` of `os-release`, else its `NAME`. Values are quoted as in a shell.
pub(super) fn system_name(os_release: &str) -> Option<String> {
    ["PRETTY_NAME=", "NAME="].iter().find_map(|key| {
        let value = os_release
            .lines()
            .find_map(|line| line.trim().strip_prefix(key))?;
        let name = shell_words::split(value).ok()?.join(" ");
        (!name.is_empty()).then_some(name)
    })
}

/// The processors of a list such as `0-3,8`.
pub(super) fn cpu_list(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// The number that a text such as `/proc/loadavg` begins with.
pub(super) fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R)   CPU @ 2.80GHz\n\
        flags\t\t: fpu sse2 hypervisor avx2\n\nprocessor\t: 1\nmodel name\t: Other\n";
    const ARM: &str = "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\n\
        CPU implementer\t: 0x41\n\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n";

    #[test]
    fn processors_are_named_as_their_architecture_does() {
        assert_eq!(cpu_model(X86).unwrap(), "Intel(R) Xeon(R) CPU @ 2.80GHz");
        assert_eq!(cpu_model(ARM).unwrap(), "Raspberry Pi 4 Model B Rev 1.4");
        assert_eq!(cpu_model("processor: 0\nmodel name:\n"), None);
        assert_eq!(cpu_model(""), None);
    }

    #[test]
    fn a_virtual_machine_is_seen_only_where_the_processor_tells() {
        assert_eq!(virtualized(X86), Some(true));
        assert_eq!(virtualized("flags : fpu sse2\n"), Some(false));
        assert_eq!(virtualized(ARM), None);
    }

    #[test]
    fn memory_is_in_bytes() {
        let text = "MemTotal:        8039892 kB\nMemFree:          123 kB\n";
        assert_eq!(memory_bytes(text), Some(8_039_892 * 1024));
        assert_eq!(memory_bytes("MemTotal: lots\n"), None);
        assert_eq!(memory_bytes("MemTotal: 18446744073709551615 kB\n"), None);
    }

    #[test]
    fn a_distribution_has_a_name_in_quotes_or_not() {
        let debian = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(
            system_name(debian).unwrap(),
            "Debian GNU/Linux 12 (bookworm)"
        );
        assert_eq!(system_name("NAME=Alpine\n").unwrap(), "Alpine");
        assert_eq!(system_name("ID=x\n"), None);
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(cpu_list("0-3,8\n").unwrap(), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list("0\n").unwrap(), [0]);
        assert_eq!(cpu_list("\n"), None);
        assert_eq!(cpu_list("a-b"), None);
    }

    #[test]
    fn a_load_average_is_its_first_number() {
        assert_eq!(first_number("0.42 0.31 0.20 1/123 456\n"), Some(0.42));
        assert_eq!(first_number(""), None);
    }
}
