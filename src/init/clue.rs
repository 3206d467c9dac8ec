//! What sources tell of a server: how it takes its port, and what paths it answers. They are searched for words, not
//! read as a compiler does.

/// How a server takes its port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Port {
    /// From this variable of its environment.
    Variable(String),
    /// From arguments, in which `{{ port }}` stands.
    Arguments(String),
    /// It is always this one.
    Fixed(u16),
    /// Nobody can tell.
    Unknown,
}

/// What stands before the name of a variable.
const READS: [&str; 11] = [
    "process.env.",
    "process.env[",
    "env.get(",
    "Getenv(",
    "LookupEnv(",
    "env::var(",
    "env::var_os(",
    "environ[",
    "environ.get(",
    "getenv(",
    "ENV[",
];

/// Ports of something else than the server.
const OTHERS: [&str; 14] = [
    "DB", "DATABASE", "PG", "POSTGRES", "MYSQL", "REDIS", "MONGO", "SMTP", "MAIL", "AMQP", "KAFKA",
    "METRICS", "DEBUG", "ADMIN",
];

/// What stands before a port that is written down.
const LISTENS: [&str; 9] = [
    ".listen(",
    "port:",
    "port =",
    "PORT =",
    "Port:",
    "\":",
    "0.0.0.0:",
    "127.0.0.1:",
    "[::]:",
];

/// Flags of Go programs that name a port, or an address.
const FLAGS: [(&str, bool); 6] = [
    ("port", false),
    ("addr", true),
    ("listen", true),
    ("http", true),
    ("address", true),
    ("bind", true),
];

/// How the server with these sources takes its port.
pub(super) fn port(sources: &[String]) -> Port {
    if let Some(name) = variable(sources) {
        return Port::Variable(name);
    }
    let in_any = |find: fn(&str) -> Option<Port>| sources.iter().find_map(|text| find(text));
    in_any(flag)
        .or_else(|| in_any(fixed))
        .unwrap_or(Port::Unknown)
}

/// The variable that a port is read from: PORT, else one that ends so.
fn variable(sources: &[String]) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for text in sources {
        for read in READS {
            all.extend(behind(text, read).filter_map(|rest| {
                let name = word(rest.trim_start_matches(['"', '\'', '`', ' ']));
                let other = OTHERS.iter().any(|other| name.starts_with(other));
                (name.ends_with("PORT") && !other).then_some(name)
            }));
        }
        // const { PORT = 3000 } = process.env
        let taken_apart = behind(text, "{").any(|rest| {
            let (names, after) = rest.split_once('}').unwrap_or_default();
            after
                .trim_start()
                .trim_start_matches('=')
                .trim_start()
                .starts_with("process.env")
                && names
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .any(|name| name == "PORT")
        });
        all.extend(taken_apart.then_some("PORT"));
    }
    let plain = all.iter().find(|name| **name == "PORT");
    plain.or(all.first()).map(|name| (*name).to_owned())
}

fn flag(text: &str) -> Option<Port> {
    FLAGS.iter().find_map(|(name, is_address)| {
        let written = ["flag.String(\"", "flag.Int(\"", "flag.Uint(\""]
            .iter()
            .any(|kind| text.contains(&format!("{kind}{name}\"")));
        let host = if *is_address { "127.0.0.1:" } else { "" };
        written.then(|| Port::Arguments(format!("-{name} {host}{{{{ port }}}}")))
    })
}

fn fixed(text: &str) -> Option<Port> {
    LISTENS.iter().find_map(|marker| {
        behind(text, marker).find_map(|rest| {
            let rest = rest.trim_start();
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let port: u16 = rest[..end].parse().ok()?;
            (port >= 80).then_some(Port::Fixed(port))
        })
    })
}

/// What stands before a path that is answered.
const ROUTES: [&str; 9] = [
    ".get(",
    ".GET(",
    ".Get(",
    "HandleFunc(",
    "Handle(",
    ".route(",
    "url === ",
    "url == ",
    "pathname === ",
];

/// The paths that a server with these sources seems to answer, `/` first.
pub(super) fn paths(sources: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in sources {
        for route in ROUTES {
            for rest in behind(text, route) {
                let rest = rest.trim_start();
                let Some(quote) = rest.chars().next().filter(|c| "\"'`".contains(*c)) else {
                    continue;
                };
                let path = rest[1..].split(quote).next().unwrap_or_default();
                let path = path.strip_prefix("GET ").unwrap_or(path);
                let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
                if path.starts_with('/')
                    && path.chars().all(plain)
                    && !all.iter().any(|one| one == path)
                {
                    all.push(path.to_owned());
                }
            }
        }
    }
    all.sort_by_key(|path| path != "/");
    all
}

/// What stands behind each occurrence of a text.
fn behind<'t>(text: &'t str, marker: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(marker)
        .map(move |(at, found)| &text[at + found.len()..])
}

/// The capital letters, digits and `_` at the beginning.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port_in(text: &str) -> Port {
        port(&[text.to_owned()])
    }

    #[test]
    fn a_port_is_taken_from_where_sources_read_it() {
        let variable = |name: &str| Port::Variable(name.to_owned());
        for (text, name) in [
            ("app.listen(process.env.PORT || 3000)", "PORT"),
            ("app.listen(process.env['APP_PORT'])", "APP_PORT"),
            ("const { HOST, PORT = 80 } = process.env", "PORT"),
            (
                "redis(process.env.REDIS_PORT); listen(process.env.PORT)",
                "PORT",
            ),
            ("port := os.Getenv(\"HTTP_PORT\")", "HTTP_PORT"),
            ("std::env::var(\"PORT\").unwrap()", "PORT"),
            ("port=int(os.environ.get('PORT', 5000))", "PORT"),
        ] {
            assert_eq!(port_in(text), variable(name), "{text}");
        }
        for (text, number) in [
            ("app.listen(3000)", 3000),
            ("fastify.listen({ port: 8000 })", 8000),
            ("http.ListenAndServe(\":8080\", nil)", 8080),
            ("TcpListener::bind(\"0.0.0.0:3000\")", 3000),
            ("redis(process.env.REDIS_PORT); app.listen( 4000 )", 4000),
        ] {
            assert_eq!(port_in(text), Port::Fixed(number), "{text}");
        }
        assert_eq!(
            port_in("a := flag.String(\"addr\", \":8080\", \"\")"),
            Port::Arguments("-addr 127.0.0.1:{{ port }}".to_owned())
        );
        assert_eq!(port_in("app.listen(socket)"), Port::Unknown);
    }

    #[test]
    fn paths_are_those_that_are_answered_to_everybody() {
        let all = |text: &str| paths(&[text.to_owned()]);
        assert_eq!(
            all("app.get('/items', f); app.get('/', g)"),
            ["/", "/items"]
        );
        assert_eq!(all("mux.HandleFunc(\"GET /health\", f)"), ["/health"]);
        assert_eq!(all("Router::new().route(\"/users\", get(f))"), ["/users"]);
        assert!(all("app.get('/users/:id', f); app.post('/x', f); map.get('key')").is_empty());
        assert!(all("HandleFunc(\"POST /x\", f); route(\"/a/{id}\", get(f))").is_empty());
    }
}
