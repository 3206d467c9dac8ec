//! Single values: units, numbers with bounds, templates, commands.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::{At, Command, Order, Repetitions, Template};
use crate::suite::recover::{nearest, there_are};
use crate::suite::schema::Opt;
use crate::suite::template::{self, Fault, Place};
use crate::suite::written::{self, DurationText, Number, ShareText, SizeText, Spanned, Words};
use crate::units::{self, UnitError};
use std::fmt::Display;
use std::ops::Range;
use std::time::Duration;

/// More requests per second than this are a mistyped number.
const MOST_REQUESTS_PER_SECOND: f64 = 1e8;

impl Resolver {
    pub(super) fn duration(&mut self, text: Opt<DurationText>) -> Option<Duration> {
        self.duration_at(text).map(|at| at.value)
    }

    fn duration_at(&mut self, text: Opt<DurationText>) -> Option<At<Duration>> {
        let text = text?;
        let span = text.span();
        self.unit(&text.into_inner().0, span, units::parse_duration)
    }

    /// A duration that is more than nothing.
    pub(super) fn positive_duration(&mut self, text: Opt<DurationText>) -> Option<Duration> {
        self.positive_duration_at(text).map(|at| at.value)
    }

    pub(super) fn positive_duration_at(&mut self, text: Opt<DurationText>) -> Option<At<Duration>> {
        let at = self.duration_at(text)?;
        if at.value.is_zero() {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                "this cannot be zero",
                at.span,
            ));
            return None;
        }
        Some(at)
    }

    /// In windows of less than a quarter of a second a server is never like it was before.
    pub(super) fn max_warmup(&mut self, text: Opt<DurationText>) -> Option<Duration> {
        let at = self.duration_at(text)?;
        if at.value < Duration::from_secs(1) {
            self.say(
                Diagnostic::error(
                    code::BAD_VALUE,
                    "a warm-up cannot be looked for in less than 1 s",
                    at.span,
                )
                .help("`warmup = \"…\"` fixes it, and then nothing is looked for"),
            );
            return None;
        }
        Some(at.value)
    }

    /// Shorter intervals would measure the sampler, longer ones would see nothing.
    pub(super) fn sample_interval(&mut self, text: Opt<DurationText>) -> Option<Duration> {
        let at = self.duration_at(text)?;
        if at.value < Duration::from_millis(10) || at.value > Duration::from_mins(1) {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                "processes are sampled every 10 ms to 60 s",
                at.span,
            ));
            return None;
        }
        Some(at.value)
    }

    pub(super) fn share(&mut self, text: Opt<ShareText>) -> Option<f64> {
        let text = text?;
        let span = text.span();
        let share = self.unit(&text.into_inner().0, span, units::parse_share)?;
        Some(share.value)
    }

    /// A share that is more than nothing.
    pub(super) fn positive_share(&mut self, text: Opt<ShareText>) -> Option<f64> {
        let span = text.as_ref()?.span();
        let share = self.share(text)?;
        if share > 0.0 {
            return Some(share);
        }
        self.say(Diagnostic::error(
            code::BAD_VALUE,
            "this cannot be zero",
            span,
        ));
        None
    }

    pub(super) fn bytes(&mut self, text: Opt<SizeText>) -> Option<At<u64>> {
        let text = text?;
        let span = text.span();
        self.unit(&text.into_inner().0, span, units::parse_bytes)
    }

    pub(super) fn unit<T>(
        &mut self,
        text: &str,
        span: Range<usize>,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Option<At<T>> {
        match parse(text) {
            Ok(value) => Some(At::new(value, span)),
            Err(error) => {
                self.say(Diagnostic::error(code::BAD_UNIT, error.message, span).help(error.help));
                None
            }
        }
    }

    /// A rate of requests: a number that is more than nothing.
    pub(super) fn rate(&mut self, rate: Opt<Number>) -> Option<At<f64>> {
        let rate = rate?;
        let number = rate.get_ref().0;
        if number <= 0.0 || number > MOST_REQUESTS_PER_SECOND {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                "a rate is a number of requests per second, more than 0 and at most 100 million",
                rate.span(),
            ));
            return None;
        }
        Some(At::new(number, rate.span()))
    }

    /// A number that is at least 1, with its place.
    pub(super) fn positive_at(&mut self, number: Opt<u32>, what: &str) -> Option<At<u32>> {
        let span = number.as_ref()?.span();
        self.at_least(number, 1, what)
            .map(|number| At::new(number, span))
    }

    /// A number that is at least `least`.
    pub(super) fn at_least<T: PartialOrd + Display + Copy>(
        &mut self,
        number: Opt<T>,
        least: T,
        what: &str,
    ) -> Option<T> {
        let number = number?;
        if *number.get_ref() < least {
            self.say(
                Diagnostic::error(
                    code::BAD_VALUE,
                    format!("`{what}` must be at least {least}"),
                    number.span(),
                )
                .label("too small"),
            );
            return None;
        }
        Some(number.into_inner())
    }

    pub(super) fn repetitions(
        &mut self,
        repetitions: Opt<written::Repetitions>,
    ) -> Option<Repetitions> {
        let repetitions = repetitions?;
        let span = repetitions.span();
        match repetitions.into_inner() {
            written::Repetitions::Number(number) => self
                .at_least(Some(Spanned::new(span, number)), 1, "repetitions")
                .map(Repetitions::Number),
            written::Repetitions::Auto => Some(Repetitions::Auto),
        }
    }

    pub(super) fn order(&mut self, order: Opt<String>) -> Option<Order> {
        let known = [
            ("shuffled", Order::Shuffled),
            ("sequential", Order::Sequential),
            ("random", Order::Random),
        ];
        self.one_of(order, "order", &known)
    }

    /// A word of a fixed list.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        word: Opt<String>,
        what: &str,
        known: &[(&str, T)],
    ) -> Option<T> {
        let word = word?;
        if let Some((_, value)) = known.iter().find(|(name, _)| name == word.get_ref()) {
            return Some(*value);
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let diagnostic = Diagnostic::error(
            code::BAD_VALUE,
            format!("there is no {what} `{}`", word.get_ref()),
            word.span(),
        );
        self.say(match nearest(word.get_ref(), &names) {
            Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
            None => diagnostic.help(there_are(&names)),
        });
        None
    }

    pub(super) fn status(&mut self, status: Opt<u16>) -> Option<At<u16>> {
        let status = status?;
        if !(100..=599).contains(status.get_ref()) {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                format!("{} is not a status of HTTP", status.get_ref()),
                status.span(),
            ));
            return None;
        }
        if *status.get_ref() < 200 {
            self.say(
                Diagnostic::error(
                    code::BAD_VALUE,
                    format!(
                        "{} is never the status of a whole response: after it another one follows, or another protocol",
                        status.get_ref()
                    ),
                    status.span(),
                )
                .help("write the status of the response that follows, 200 to 599"),
            );
            return None;
        }
        Some(At::new(*status.get_ref(), status.span()))
    }

    /// A text that is rendered for each cell. `place` says which names it may use.
    pub(super) fn template(&mut self, text: Spanned<String>, place: Place) -> Template {
        let span = text.span();
        let at = At::new(text.into_inner(), span);
        self.check_template(&at, place);
        at
    }

    fn check_template(&mut self, text: &Template, place: Place) {
        if text.value.contains('\0') {
            self.say(Diagnostic::error(
                code::BAD_VALUE,
                "a zero byte cannot be passed to a process",
                text.span.clone(),
            ));
        }
        for fault in template::check(&text.value, &self.known_names(), place) {
            let span = text.span.clone();
            self.say(match fault {
                Fault::Syntax { message, help } => {
                    let diagnostic = Diagnostic::error(
                        code::BAD_TEMPLATE,
                        format!("this template does not parse: {message}"),
                        span,
                    );
                    match help {
                        Some(help) => diagnostic.help(help),
                        None => diagnostic,
                    }
                }
                Fault::Name { message, help } => {
                    Diagnostic::error(code::UNKNOWN_VARIABLE, message, span).help(help)
                }
            });
        }
    }

    /// A command whose arguments are rendered for each cell.
    pub(super) fn command(&mut self, words: Spanned<Words>, place: Place) -> Command {
        let command = self.split(words);
        for word in &command.value {
            self.check_template(word, place);
        }
        // A command that could not be split has been complained of.
        let unsplit = self.out.last().is_some_and(|last| {
            last.code == code::BAD_COMMAND && last.offset() == command.span.start
        });
        let first = command.value.first();
        if !unsplit && first.is_none_or(|word| word.value.trim().is_empty()) {
            self.say(
                Diagnostic::error(
                    code::BAD_COMMAND,
                    "this command is empty",
                    command.span.clone(),
                )
                .help("write the program and its arguments: \"node index.js\""),
            );
        }
        if let Some(word) = command.value.first()
            && sets_a_variable(&word.value)
        {
            self.say(
                Diagnostic::error(
                    code::BAD_COMMAND,
                    format!("`{}` is no program", word.value),
                    word.span.clone(),
                )
                .help("variables go into `env`: env = { NAME = \"value\" }"),
            );
        }
        command
    }

    /// Arguments behind a command; there may be none.
    pub(super) fn arguments(&mut self, words: Spanned<Words>, place: Place) -> Command {
        let command = self.split(words);
        for word in &command.value {
            self.check_template(word, place);
        }
        command
    }

    pub(super) fn split(&mut self, words: Spanned<Words>) -> Command {
        let span = words.span();
        let arguments = match words.into_inner() {
            Words::List(list) => {
                let at = |word: Spanned<String>| {
                    let span = word.span();
                    At::new(word.into_inner(), span)
                };
                list.into_iter().map(at).collect()
            }
            Words::Line(line) => self.split_line(&line, &span),
        };
        At::new(arguments, span)
    }

    fn split_line(&mut self, line: &str, span: &Range<usize>) -> Vec<Template> {
        match split_outside_templates(line) {
            Ok(words) => {
                let meant_for_a_shell = words.iter().any(|word| {
                    matches!(
                        word.as_str(),
                        "|" | "||" | "&&" | ";" | ">" | ">>" | "<" | "&" | "2>&1"
                    )
                });
                if meant_for_a_shell {
                    self.say(
                        Diagnostic::error(
                            code::BAD_COMMAND,
                            "no shell reads this command, so its operators would become arguments",
                            span.clone(),
                        )
                        .help("write [\"sh\", \"-c\", \"…\"] where you want a shell"),
                    );
                }
                words
                    .into_iter()
                    .map(|word| At::new(word, span.clone()))
                    .collect()
            }
            Err(message) => {
                self.say(
                    Diagnostic::error(code::BAD_COMMAND, message, span.clone())
                        .help("close the quote, or write the arguments as an array"),
                );
                Vec::new()
            }
        }
    }
}

/// Whether a word is what a shell takes for `NAME=value`.
fn sets_a_variable(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Splits a line like a shell would, but never inside `{{ … }}` or `{% … %}`:
/// what a template says is one piece, spaces and quotes and all.
fn split_outside_templates(line: &str) -> Result<Vec<String>, String> {
    let mut plain = String::new();
    let mut kept: Vec<&str> = Vec::new();
    let mut rest = line;
    while let Some((at, close)) = ["{{", "{%"]
        .iter()
        .zip(["}}", "%}"])
        .filter_map(|(open, close)| rest.find(open).map(|at| (at, close)))
        .min_by_key(|(at, _)| *at)
    {
        let Some(length) = rest[at..].find(close) else {
            break;
        };
        plain.push_str(&rest[..at]);
        plain.push(PLACE);
        kept.push(&rest[at..at + length + 2]);
        rest = &rest[at + length + 2..];
    }
    plain.push_str(rest);
    let words = shell_words::split(&plain).map_err(|_| "a quote is not closed".to_owned())?;
    let mut kept = kept.into_iter();
    Ok(words
        .into_iter()
        .map(|word| {
            let mut out = String::new();
            for (index, piece) in word.split(PLACE).enumerate() {
                if index > 0 {
                    out.push_str(kept.next().unwrap_or_default());
                }
                out.push_str(piece);
            }
            out
        })
        .collect())
}

/// Stands for a template while a line is split: a noncharacter of Unicode.
const PLACE: char = '\u{fdd1}';

#[cfg(test)]
mod tests {
    use super::split_outside_templates;

    #[test]
    fn commands_split_before_they_are_rendered() {
        let split = |line: &str| split_outside_templates(line).unwrap();
        assert_eq!(split("node index.js"), ["node", "index.js"]);
        assert_eq!(split("a 'b c' \"d\\\"e\""), ["a", "b c", "d\"e"]);
        assert_eq!(
            split("x --port={{ port }} {% if toggles.a == 'b c' %}--on{% endif %}"),
            [
                "x",
                "--port={{ port }}",
                "{% if toggles.a == 'b c' %}--on{% endif %}"
            ]
        );
        assert!(split_outside_templates("a 'b").is_err());
    }
}
