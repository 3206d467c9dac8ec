//! Templates, rendered for a cell. What is known only when a process starts goes
//! through as a mark. Each template is compiled once, and rendered once for all
//! the cells that give the names in it the same values.

use super::axes::Names;
use crate::diagnostic::Diagnostic;
use crate::spec::{Symbol, Text};
use crate::suite::{self, Requirement, Suite, Template};
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, Hasher};
use std::marker::PhantomData;

/// Who is asking: what a template may depend on beside the caller's environment.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    /// The cell; none for runtimes and services, which belong to no cell.
    pub(super) names: Option<&'a Names<'a>>,
    /// The value of the toggle whose setting the template stands in.
    pub(super) value: Option<&'a str>,
    /// Whether the process has a runtime.
    pub(super) runtime: bool,
    /// The processes of the server that are started, with their counts.
    pub(super) ports: &'a [(&'a str, u32)],
    /// The version of the runtime that is being built.
    pub(super) version: Option<&'a str>,
}

impl Asker<'_> {
    /// One who is no cell and no runtime.
    pub(super) const NOBODY: Self = Self {
        names: None,
        value: None,
        runtime: false,
        ports: &[],
        version: None,
    };
}

/// A rendered template, or what is wrong with it and what to do.
type Rendered = Result<Text, (String, &'static str)>;

/// Renders templates, and remembers what it rendered.
pub(super) struct Renderer<'a> {
    /// Templates are told apart by their places in memory, so they must stay there as long as this.
    suite: PhantomData<&'a Suite>,
    environment: Environment<'static>,
    /// The marks of the caller's variables.
    env: Value,
    /// The marks of the services' ports.
    services: Value,
    /// By the place of the template in memory, which the suite keeps as long as the plan.
    known: HashMap<usize, Known, BuildHasherDefault<PlaceHasher>>,
    /// Room for what a cell's identity is made of, so that it is not asked for again for each.
    pub(super) room: Vec<u8>,
    /// Conflicts of toggles that have been said.
    pub(super) told: HashSet<String>,
}

/// Hashes places in memory, which are as good as random but for their lowest bits.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, place: usize) {
        // The multiplier is 2⁶⁴ divided by the golden ratio (Knuth, The Art of Computer Programming 3, 6.4).
        self.0 = (self.0 ^ place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

struct Known {
    /// Its name in the environment; none where it is plain text.
    compiled: Option<String>,
    /// The names that it uses, `toggles.NAME` each for itself.
    uses: Vec<String>,
    /// What came of it where it uses none.
    plain: Option<Rendered>,
    /// What came of it, by the values of these names.
    rendered: HashMap<String, Rendered>,
}

/// Whether a text is more than itself.
pub(super) fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|open| text.contains(open))
}

impl<'a> Renderer<'a> {
    /// A renderer for a suite. A variable that something requires has a mark even where it is not set,
    /// since what requires it is skipped then.
    pub(super) fn new(env: &BTreeMap<String, String>, suite: &'a Suite) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let env = env
            .keys()
            .map(String::as_str)
            .chain(required(suite))
            .map(|name| (name, Text::mark(&Symbol::Env(name.to_owned()))));
        let services = suite.services.iter().map(|service| {
            let name = &service.name.value;
            let port = Text::mark(&Symbol::ServicePort(name.clone()));
            (name.as_str(), Value::from_pairs([("port", port)]))
        });
        Self {
            suite: PhantomData,
            environment,
            env: Value::from_pairs(env),
            services: Value::from_pairs(services),
            known: HashMap::default(),
            room: Vec::new(),
            told: HashSet::new(),
        }
    }

    /// Renders a template that lives as long as the plan.
    pub(super) fn render(&mut self, template: &'a Template, asker: Asker<'_>) -> Rendered {
        let place = std::ptr::from_ref(template) as usize;
        let environment = &mut self.environment;
        let known = self
            .known
            .entry(place)
            .or_insert_with(|| Known::new(environment, place, &template.value));
        if let Some(rendered) = &known.plain {
            return rendered.clone();
        }
        let key = known.key(asker);
        if let Some(rendered) = known.rendered.get(&key) {
            return rendered.clone();
        }
        let compiled = known
            .compiled
            .as_ref()
            .and_then(|name| environment.get_template(name).ok());
        let rendered = match compiled {
            None => Ok(Text::literal(&template.value)),
            Some(compiled) => {
                let context = context(&known.uses, asker, &self.env, &self.services);
                finish(compiled.render(context), || {
                    missing(&known.uses, asker, &self.env)
                })
            }
        };
        if known.uses.is_empty() {
            known.plain = Some(rendered.clone());
        } else {
            known.rendered.insert(key, rendered.clone());
        }
        rendered
    }
}

/// The variables that something requires.
fn required(suite: &Suite) -> impl Iterator<Item = &str> {
    let of_runtimes = suite.runtimes.iter().map(|runtime| &runtime.requires);
    let of_services = suite
        .services
        .iter()
        .filter_map(|service| service.keys.requires.as_ref());
    let of_servers = suite.servers.iter().flat_map(|server| {
        let processes = server.processes.iter().map(|process| &process.keys);
        std::iter::once(&server.keys)
            .chain(processes)
            .filter_map(|keys| keys.requires.as_ref())
    });
    let of_toggles = suite.toggles.iter().flat_map(|toggle| {
        toggle
            .values
            .iter()
            .filter_map(|value| value.setting.server.requires.as_ref())
    });
    of_runtimes
        .chain(of_services)
        .chain(of_servers)
        .chain(of_toggles)
        .flatten()
        .filter_map(|requirement| match &requirement.value {
            Requirement::Env(name) => Some(name.as_str()),
            Requirement::Tool { .. } | Requirement::File(_) => None,
        })
}

impl Known {
    fn new(environment: &mut Environment<'static>, place: usize, source: &str) -> Self {
        let name = place.to_string();
        let parsed = if is_template(source) {
            environment
                .add_template_owned(name.clone(), source.to_owned())
                .map(|()| true)
        } else {
            Ok(false)
        };
        let (compiled, plain) = match parsed {
            Ok(compiled) => (compiled, None),
            Err(error) => {
                let detail = error.detail().unwrap_or("it does not parse").to_owned();
                (false, Some(Err((detail, "`{{` and `{%` open a template"))))
            }
        };
        let uses = environment
            .get_template(&name)
            .ok()
            .filter(|_| compiled)
            .map_or_else(Vec::new, |template| {
                let mut uses: Vec<String> =
                    template.undeclared_variables(true).into_iter().collect();
                uses.sort();
                uses
            });
        Self {
            compiled: compiled.then_some(name),
            uses,
            plain,
            rendered: HashMap::new(),
        }
    }

    /// The values that decide what comes of it, in one text.
    fn key(&self, asker: Asker<'_>) -> String {
        let mut key = String::new();
        for name in &self.uses {
            let (root, rest) = name.split_once('.').unwrap_or((name, ""));
            let axis = |axis| asker.names.and_then(|names| names.axis(axis)).unwrap_or("");
            let value = match root {
                "server" | "load" => axis(root),
                "value" => asker.value.unwrap_or(""),
                "version" => asker.version.unwrap_or(""),
                "runtime" => {
                    if asker.runtime {
                        "1"
                    } else {
                        "0"
                    }
                }
                "toggles" if !rest.is_empty() => axis(rest),
                "toggles" => {
                    let toggles = asker.names.map_or(&[][..], |names| &names.toggles);
                    // Two cells may have the same values of other toggles.
                    for (toggle, value) in toggles {
                        push(&mut key, &toggle.name.value);
                        push(&mut key, &value.name.value);
                    }
                    continue;
                }
                "ports" => {
                    for (process, count) in asker.ports {
                        push(&mut key, process);
                        // Writing to a String cannot fail.
                        let _ = write!(key, "{count}\0");
                    }
                    continue;
                }
                _ => continue,
            };
            push(&mut key, value);
        }
        key
    }
}

fn push(key: &mut String, value: &str) {
    key.push_str(value);
    key.push('\0');
}

/// What a template sees: only what it uses.
fn context(uses: &[String], asker: Asker<'_>, env: &Value, services: &Value) -> Value {
    let mut context: BTreeMap<&str, Value> = BTreeMap::new();
    for name in uses {
        let root = name.split_once('.').map_or(name.as_str(), |(root, _)| root);
        let mark = |symbol: Symbol| Some(Value::from(Text::mark(&symbol)));
        let value = match root {
            "port" => mark(Symbol::Port),
            "dir" => mark(Symbol::Dir),
            "cpus" => mark(Symbol::Cpus),
            "counter" => mark(Symbol::Counter),
            "random" => Some(Value::from_function(random)),
            "index" => mark(Symbol::Index),
            "cache" => mark(Symbol::Cache),
            "bin" => mark(Symbol::Bin),
            "runtime" if asker.runtime => mark(Symbol::Runtime),
            "version" => asker.version.map(Value::from),
            "value" => asker.value.map(Value::from),
            "server" | "load" => asker
                .names
                .and_then(|names| names.axis(root))
                .map(Value::from),
            "toggles" => asker.names.map(toggles),
            "ports" => Some(ports(asker.ports)),
            "env" => Some(env.clone()),
            "services" => Some(services.clone()),
            _ => None,
        };
        if let Some(value) = value {
            context.insert(root, value);
        }
    }
    Value::from_pairs(context)
}

/// A number by chance, for each request another one.
fn random(low: u64, high: u64) -> Result<String, minijinja::Error> {
    if low > high {
        return Err(minijinja::Error::new(
            minijinja::ErrorKind::InvalidOperation,
            format!("`random({low}, {high})` has no number to choose: the lower one stands first"),
        ));
    }
    Ok(Text::mark(&Symbol::Random(low, high)))
}

fn toggles(names: &Names<'_>) -> Value {
    let toggles = names.toggles.iter();
    Value::from_pairs(
        toggles.map(|(toggle, value)| (toggle.name.value.as_str(), value.name.value.as_str())),
    )
}

fn ports(processes: &[(&str, u32)]) -> Value {
    Value::from_pairs(processes.iter().map(|(process, count)| {
        let of = |at| Text::mark(&Symbol::Ports((*process).to_owned(), at as usize));
        (*process, (0..*count).map(of).collect::<Value>())
    }))
}

const NOT_COMPUTED: &str = "`port`, `dir`, `cpus`, `runtime`, `env`, ports, `counter` and `random` can be inserted, but not computed with";

/// Which of the names that a template uses has no value.
fn missing(uses: &[String], asker: Asker<'_>, env: &Value) -> Option<String> {
    let is_missing = |name: &&String| {
        let (root, rest) = name.split_once('.').unwrap_or((name, ""));
        match root {
            "toggles" => {
                !rest.is_empty() && asker.names.is_none_or(|names| names.axis(rest).is_none())
            }
            "env" => !rest.is_empty() && env.get_attr(rest).is_ok_and(|value| value.is_undefined()),
            "runtime" => !asker.runtime,
            _ => false,
        }
    };
    uses.iter().find(is_missing).cloned()
}

fn finish(
    rendered: Result<String, minijinja::Error>,
    missing: impl Fn() -> Option<String>,
) -> Rendered {
    match rendered {
        Ok(rendered) => Text::from_marked(&rendered).ok_or_else(|| {
            (
                "what is known only when a process starts was changed".to_owned(),
                NOT_COMPUTED,
            )
        }),
        Err(error) => {
            let detail = error
                .detail()
                .map_or_else(|| error.kind().to_string(), str::to_owned);
            let undefined = error.kind() == minijinja::ErrorKind::UndefinedError;
            let detail = match missing().filter(|_| undefined) {
                Some(name) => format!("`{name}` has no value here"),
                None => detail,
            };
            let help = if error.kind() == minijinja::ErrorKind::UndefinedError {
                "a toggle is defined only for the servers and loads that it applies to, `runtime` only where a \
                 server has one, and `env.NAME` only where the variable is set; `| default('…')` gives another value"
            } else {
                NOT_COMPUTED
            };
            Err((detail, help))
        }
    }
}

/// What is said of a template that cannot be rendered.
pub(super) fn mistake(
    template: &Template,
    names: Option<&Names<'_>>,
    (message, help): (String, &'static str),
) -> Diagnostic {
    let cell = names.map_or_else(String::new, |names| {
        format!(
            " for `{}` under `{}`",
            names.server.name.value, names.load.name.value
        )
    });
    Diagnostic::error(
        suite::BAD_TEMPLATE,
        format!("this cannot be rendered{cell}: {message}"),
        template.span.clone(),
    )
    .help(help)
}
