//! Quantities as people write and read them: durations, sizes, shares and
//! rates. Parsing is strict (a bare number where a unit is needed is an
//! error), printing is what the reports show. Inside hotlap a duration is
//! [`std::time::Duration`], a size is bytes in `u64`, a share is an `f64`
//! between 0 and 1, and on disk they are nanoseconds and bytes.

use std::fmt;
use std::time::Duration;

/// Why a text is not the quantity it should be, with what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// What is wrong with the text.
    pub message: String,
    /// How it should be written.
    pub help: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for UnitError {}

const DURATION_HELP: &str = "write a number and a unit: ns, us, ms, s, m, h (\"250ms\", \"30s\")";
const BYTES_HELP: &str =
    "write a number and a unit: B, KB, MB, GB, KiB, MiB, GiB (\"64KiB\", \"1MB\")";
const SHARE_HELP: &str = "write a percentage between 0 % and 100 % (\"2%\", \"0.1%\")";

/// The longest duration that is accepted: a year, so that sums cannot overflow.
const LONGEST: f64 = 365.0 * 86400.0;

/// Splits `"250ms"` into the number and the unit behind it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let digits = text[..end].replace('_', "");
    // `f64::from_str` takes "1." and ".5"; people who write them meant something else.
    if digits.starts_with('.') || digits.ends_with('.') {
        return None;
    }
    Some((digits.parse().ok()?, text[end..].trim_start()))
}

/// Reads `"250ms"`, `"30s"`, `"5m"`.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let wrong = |message: String| UnitError {
        message,
        help: DURATION_HELP.to_owned(),
    };
    let (number, unit) =
        split(text).ok_or_else(|| wrong(format!("\"{text}\" is not a duration")))?;
    let seconds = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => return Err(wrong(format!("\"{text}\" has no unit"))),
        other => {
            return Err(wrong(format!("\"{other}\" is not a unit of time")));
        }
    };
    let total = number * seconds;
    if total > LONGEST {
        return Err(wrong(format!("\"{text}\" is longer than a year")));
    }
    Ok(Duration::from_nanos((total * 1e9).round() as u64))
}

/// Reads `"64KiB"`, `"1MB"`, `"500B"`; the result is in bytes.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let wrong = |message: String| UnitError {
        message,
        help: BYTES_HELP.to_owned(),
    };
    let (number, unit) = split(text).ok_or_else(|| wrong(format!("\"{text}\" is not a size")))?;
    let factor = match (size_factor(unit), unit) {
        (Some(factor), _) => factor,
        (None, "") => return Err(wrong(format!("\"{text}\" has no unit"))),
        (None, other) => return Err(wrong(format!("\"{other}\" is not a unit of size"))),
    };
    let bytes = number * factor;
    if bytes.fract() != 0.0 {
        return Err(wrong(format!("\"{text}\" is not a whole number of bytes")));
    }
    // Above 2^53 a float no longer counts single bytes; nobody means eight petabytes.
    if bytes > 9_007_199_254_740_992.0 {
        return Err(wrong(format!("\"{text}\" is too large")));
    }
    Ok(bytes as u64)
}

/// Reads a size that is a measured figure, such as `"69.0938MiB"`; the result is in bytes and may
/// have a fraction.
pub fn parse_measured_bytes(text: &str) -> Result<f64, UnitError> {
    let factor = |(number, unit): (f64, &str)| Some(number * size_factor(unit)?);
    split(text).and_then(factor).ok_or_else(|| UnitError {
        message: format!("\"{text}\" is not a size"),
        help: BYTES_HELP.to_owned(),
    })
}

/// Reads `"1.83MB/s"`; the result is in bytes a second.
pub fn parse_bytes_per_second(text: &str) -> Result<f64, UnitError> {
    let wrong = |message: String| UnitError {
        message,
        help: "write a size a second: \"1.83MB/s\", \"64KiB/s\"".to_owned(),
    };
    let Some(size) = text.strip_suffix("/s") else {
        return Err(wrong(format!("\"{text}\" is not a size a second")));
    };
    let (number, unit) =
        split(size).ok_or_else(|| wrong(format!("\"{text}\" is not a size a second")))?;
    let factor =
        size_factor(unit).ok_or_else(|| wrong(format!("\"{unit}\" is not a unit of size")))?;
    Ok(number * factor)
}

/// Bytes of a unit of size.
fn size_factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" => 1.0,
        "KB" | "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

/// Reads `"2%"`; the result is a share of 1 (`0.02`).
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let wrong = |message: String| UnitError {
        message,
        help: SHARE_HELP.to_owned(),
    };
    let (number, unit) = split(text).ok_or_else(|| wrong(format!("\"{text}\" is not a share")))?;
    match unit {
        "%" if number <= 100.0 => Ok(number / 100.0),
        "%" => Err(wrong(format!("\"{text}\" is more than everything"))),
        "" => Err(wrong(format!("\"{text}\" has no percent sign"))),
        other => Err(wrong(format!("\"{other}\" is not a percent sign"))),
    }
}

/// A duration for people, with three significant digits: `1.24 ms`, `12.0 s`.
pub fn show_duration(duration: Duration) -> String {
    show_seconds(duration.as_secs_f64())
}

/// Like [`show_duration`], for a number of seconds.
pub fn show_seconds(seconds: f64) -> String {
    let (scaled, unit) = if seconds == 0.0 {
        (0.0, "s")
    } else if seconds < 0.999_5e-6 {
        (seconds * 1e9, "ns")
    } else if seconds < 0.999_5e-3 {
        (seconds * 1e6, "µs")
    } else if seconds < 0.999_5 {
        (seconds * 1e3, "ms")
    } else if seconds < 119.5 {
        (seconds, "s")
    } else {
        let total = seconds.round() as u64;
        return if total >= 3600 {
            format!("{} h {:02} m", total / 3600, total % 3600 / 60)
        } else {
            format!("{} m {:02} s", total / 60, total % 60)
        };
    };
    format!("{} {unit}", significant(scaled, 3))
}

/// A duration as it is written in a suite: `250ms`, `1.5s`, `30s`.
pub fn write_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (number, unit) = if nanos == 0 {
        return "0s".to_owned();
    } else if nanos < 1_000 {
        (nanos as f64, "ns")
    } else if nanos < 1_000_000 {
        (nanos as f64 / 1e3, "us")
    } else if nanos < 1_000_000_000 {
        (nanos as f64 / 1e6, "ms")
    } else {
        (nanos as f64 / 1e9, "s")
    };
    format!("{number}{unit}")
}

/// A size for people, in binary units, with three significant digits: `64.0 MiB`.
pub fn show_bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes;
    let mut unit = 0;
    // Up to 1023 bytes are shown one by one, larger sizes with three digits.
    while scaled.abs() >= if unit == 0 { 1023.5 } else { 999.5 } && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        return format!("{scaled:.0} B");
    }
    format!("{} {}", significant(scaled, 3), UNITS[unit])
}

/// A count or rate for people: digits that matter, thousands set apart by a
/// space that does not break (`17 300`).
pub fn show_number(value: f64, digits: usize) -> String {
    let text = significant(value, digits);
    let (sign, rest) = text
        .strip_prefix('-')
        .map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = rest
        .split_once('.')
        .map_or((rest, None), |(w, f)| (w, Some(f)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push('\u{a0}');
        }
        grouped.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// `value` rounded to `digits` significant digits, written without exponent:
/// `418004.94` with three digits is `418000`.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value:.0}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    let mut decimals = digits as i32 - 1 - magnitude;
    let round = |decimals: i32| {
        let factor = 10f64.powi(decimals.abs());
        if decimals >= 0 {
            (value * factor).round() / factor
        } else {
            (value / factor).round() * factor
        }
    };
    let mut rounded = round(decimals);
    // 99.96 becomes 100.0: one digit more before the point, one less behind it.
    if rounded != 0.0 && rounded.abs().log10().floor() as i32 > magnitude {
        decimals -= 1;
        rounded = round(decimals);
    }
    format!("{rounded:.*}", decimals.max(0) as usize)
}

/// Durations on disk: whole nanoseconds.
pub mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    /// Writes whole nanoseconds.
    pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Reads whole nanoseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

/// Durations on disk that may be absent: whole nanoseconds, or null.
pub mod optional_nanos {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    /// Writes whole nanoseconds, or null.
    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        value
            .map(|value| u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
            .serialize(to)
    }

    /// Reads whole nanoseconds, or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Option::<u64>::deserialize(from).map(|nanos| nanos.map(Duration::from_nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_a_number() {
        assert_eq!(parse_duration("250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(
            parse_duration("1.5 s").unwrap(),
            Duration::from_millis(1500)
        );
        assert_eq!(parse_duration("5m").unwrap(), Duration::from_mins(5));
        for bad in [
            "",
            "5",
            "ms",
            "-1s",
            "1e3s",
            "NaN s",
            "inf",
            "5 parsecs",
            ".5s",
            "9999999h",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn sizes_are_whole_bytes() {
        assert_eq!(parse_bytes("64KiB").unwrap(), 65536);
        assert_eq!(parse_bytes("1.5KB").unwrap(), 1500);
        for bad in ["64", "64 kb", "0.3B", "-1B", "99999999999GB"] {
            assert!(parse_bytes(bad).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn shares_are_percentages() {
        assert!((parse_share("0.1%").unwrap() - 0.001).abs() < 1e-12);
        for bad in ["0.1", "101%", "-1%", "%"] {
            assert!(parse_share(bad).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["250ms", "30s", "1.5s", "100us", "0s"] {
            assert_eq!(write_duration(parse_duration(text).unwrap()), text);
        }
    }

    #[test]
    fn people_see_three_digits() {
        assert_eq!(show_duration(Duration::from_micros(1237)), "1.24 ms");
        assert_eq!(show_duration(Duration::from_nanos(999_600)), "1.00 ms");
        assert_eq!(show_duration(Duration::from_secs(125)), "2 m 05 s");
        assert_eq!(show_bytes(1023.0), "1023 B");
        assert_eq!(show_bytes(67_108_864.0), "64.0 MiB");
        assert_eq!(show_number(418_004.94, 3), "418\u{a0}000");
        assert_eq!(show_number(-3.456, 3), "-3.46");
        assert_eq!(significant(99.96, 3), "100");
    }
}
