//! Laying keys on a draft, one layer after the other: the last one holds, tables merge by name, and two toggles
//! that want different things of one key are both named.

use super::draft::{
    Chosen, Conflict, HEADERS, Key, Layer, LoadDraft, ProcessDraft, ReadyDraft, Slot, Wish,
};
use super::expand::Expansion;
use crate::diagnostic::Diagnostic;
use crate::suite::{
    self, At, Command, ExpectKeys, Http, LoadKeys, Pace, ReadyKeys, ReadyWay, Scratch, ServerKeys,
    Template, Tls,
};
use std::ops::Range;
use std::time::Duration;

impl<'a> Expansion<'_, 'a> {
    /// Lays the keys of a server, process or setting on a process.
    pub(super) fn lay_process(
        &mut self,
        draft: &mut ProcessDraft<'a>,
        keys: &'a ServerKeys,
        process: Option<&'a str>,
    ) {
        let key = |name| Key {
            process,
            ..Key::plain(name)
        };
        self.lay(&mut draft.cwd, keys.cwd.as_ref(), key("cwd"));
        self.lay(&mut draft.socket, keys.socket.as_ref(), key("socket"));
        self.lay(&mut draft.runtime, keys.runtime.as_ref(), key("runtime"));
        self.lay(&mut draft.build, keys.build.as_ref(), key("build"));
        self.lay(&mut draft.command, keys.command.as_ref(), key("command"));
        self.lay(&mut draft.scratch, keys.scratch.as_ref(), key("scratch"));
        self.lay(&mut draft.prepare, keys.prepare.as_ref(), key("prepare"));
        self.lay(&mut draft.probe, keys.probe.as_ref(), key("probe"));
        let variable = |name| Key {
            process,
            table: "env.",
            name,
        };
        for (name, template) in &keys.env {
            self.wish(
                &mut draft.env,
                &name.value,
                Some(template),
                &template.span,
                variable,
            );
        }
        for name in keys.unset_env.iter().flatten() {
            self.wish(&mut draft.env, &name.value, None, &name.span, variable);
        }
        for (name, template) in &keys.files {
            let file = |name| Key {
                process,
                table: "files.",
                name,
            };
            self.wish(
                &mut draft.files,
                &name.value,
                Some(template),
                &template.span,
                file,
            );
        }
        self.lay_ready(&mut draft.ready, &keys.ready);
        draft.build_inputs = keys.build_inputs.as_deref().or(draft.build_inputs);
        draft.build_timeout = keys.build_timeout.or(draft.build_timeout);
        draft.pass_env = keys.pass_env.as_deref().or(draft.pass_env);
        draft.secret = keys.secret.as_deref().or(draft.secret);
        draft.needs = keys.needs.as_deref().or(draft.needs);
        draft.address = keys.address.as_deref().or(draft.address);
        draft.port = keys.port.or(draft.port);
        draft.stop_signal = keys.stop_signal.as_deref().or(draft.stop_signal);
        draft.stop_grace = keys.stop_grace.or(draft.stop_grace);
        self.lay_requires(draft, keys);
    }

    /// A toggle requires beside what the server requires; a process requires instead.
    fn lay_requires(&mut self, draft: &mut ProcessDraft<'a>, keys: &'a ServerKeys) {
        let Some(requires) = &keys.requires else {
            return;
        };
        if matches!(self.layer, Layer::Own) {
            draft.requires.clear();
        }
        draft
            .requires
            .extend(requires.iter().map(|requirement| &requirement.value));
    }

    pub(super) fn lay_ready(&mut self, draft: &mut ReadyDraft<'a>, keys: &'a ReadyKeys) {
        if keys.way.is_some() {
            // Another way to tell replaces the one below, and with it the status that it waits for.
            draft.status = None;
        }
        self.lay(&mut draft.way, keys.way.as_ref(), Key::plain("ready"));
        self.lay(
            &mut draft.status,
            keys.status.as_ref(),
            Key::plain("ready.status"),
        );
        self.lay(
            &mut draft.timeout,
            keys.timeout.as_ref(),
            Key::plain("ready.timeout"),
        );
    }

    /// Lays the keys of a load, a request or a setting on what is sent.
    pub(super) fn lay_load(&mut self, draft: &mut LoadDraft<'a>, keys: &'a LoadKeys) {
        draft.method = keys.method.as_deref().or(draft.method);
        draft.body = keys.body.as_ref().or(draft.body);
        draft.template = keys.template.as_ref().map_or(draft.template, |at| at.value);
        self.lay(&mut draft.path, keys.path.as_ref(), Key::plain("path"));
        for (name, template) in &keys.headers {
            let header = |name| Key {
                process: None,
                table: HEADERS,
                name,
            };
            self.wish(
                &mut draft.headers,
                &name.value,
                Some(template),
                &template.span,
                header,
            );
        }
        self.lay(
            &mut draft.connections,
            keys.connections.as_ref(),
            Key::plain("connections"),
        );
        self.lay(
            &mut draft.keep_alive,
            keys.keep_alive.as_ref(),
            Key::plain("keep_alive"),
        );
        self.lay(&mut draft.pace, keys.pace.as_ref(), Key::plain("rate"));
        self.lay(&mut draft.http, keys.http.as_ref(), Key::plain("http"));
        self.lay(
            &mut draft.streams,
            keys.streams.as_ref(),
            Key::plain("streams"),
        );
        self.lay(&mut draft.tls, keys.tls.as_ref(), Key::plain("tls"));
        self.lay_expect(draft, &keys.expect);
    }

    fn lay_expect(&mut self, draft: &mut LoadDraft<'a>, keys: &'a ExpectKeys) {
        self.lay(
            &mut draft.status,
            keys.status.as_ref(),
            Key::plain("expect.status"),
        );
        self.lay(
            &mut draft.expect_body,
            keys.body.as_ref(),
            Key::plain("expect.body"),
        );
        self.lay(
            &mut draft.contains,
            keys.contains.as_ref(),
            Key::plain("expect.contains"),
        );
        self.lay(
            &mut draft.min_size,
            keys.min_size.as_ref(),
            Key::plain("expect.min_size"),
        );
        let header = |name| Key {
            process: None,
            table: "expect.headers.",
            name,
        };
        for (name, value) in &keys.headers {
            self.wish(
                &mut draft.expect_headers,
                &name.value,
                Some(value),
                &value.span,
                header,
            );
        }
        for name in keys.no_headers.iter().flatten() {
            self.wish(
                &mut draft.expect_headers,
                &name.value,
                None,
                &name.span,
                header,
            );
        }
    }

    /// Lays a value on a key. Two toggles that want it differently are a mistake, unless an
    /// override says what holds.
    pub(super) fn lay<T: Same>(
        &mut self,
        slot: &mut Slot<'a, T>,
        new: Option<&'a At<T>>,
        key: Key<'a>,
    ) {
        let Some(what) = new else {
            return;
        };
        let new = Chosen {
            what,
            layer: self.layer,
        };
        if let Some(old) = slot
            && let (Layer::Toggle(first, _), Layer::Toggle(second, _)) = (old.layer, new.layer)
            && first != second
            && !T::same(self, *old, new)
        {
            self.conflict(key, (first, &old.what.span), (second, &new.what.span));
        }
        self.settle(key);
        *slot = Some(new);
    }

    /// The same for a name of a table that merges. `None` wants it not to be there.
    fn wish(
        &mut self,
        wishes: &mut Vec<Wish<'a>>,
        name: &'a str,
        set: Option<&'a Template>,
        span: &'a Range<usize>,
        key: impl Fn(&'a str) -> Key<'a>,
    ) {
        let key = key(name);
        let new = Wish {
            name,
            set,
            layer: self.layer,
            span,
        };
        let same_name = |old: &Wish<'_>| {
            let old = Key {
                name: old.name,
                ..key
            };
            old.is(key)
        };
        let Some(at) = wishes.iter().position(same_name) else {
            wishes.push(new);
            self.settle(key);
            return;
        };
        let old = wishes[at];
        if let (Layer::Toggle(first, _), Layer::Toggle(second, _)) = (old.layer, new.layer)
            && first != second
            && !self.same_wish(old, new)
        {
            self.conflict(key, (first, old.span), (second, new.span));
        }
        self.settle(key);
        wishes[at] = Wish {
            name: old.name,
            ..new
        };
    }

    fn same_wish(&mut self, old: Wish<'a>, new: Wish<'a>) -> bool {
        match (old.set, new.set) {
            (None, None) => true,
            (Some(one), Some(other)) => self.same_text((one, old.layer), (other, new.layer)),
            _ => false,
        }
    }

    fn same_text(
        &mut self,
        one: (&'a Template, Layer<'a>),
        other: (&'a Template, Layer<'a>),
    ) -> bool {
        // What cannot be rendered is complained of where it holds.
        match (self.try_text(one.0, one.1), self.try_text(other.0, other.1)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        }
    }

    fn conflict(
        &mut self,
        key: Key<'a>,
        first: (&str, &Range<usize>),
        second: (&str, &Range<usize>),
    ) {
        let conflict = Diagnostic::error(
            suite::CONFLICT,
            format!(
                "the toggles `{}` and `{}` both set `{key}`, and differently",
                first.0, second.0
            ),
            second.1.clone(),
        )
        .label(format!("set by `{}`", second.0))
        .and(first.1.clone(), format!("set by `{}`", first.0))
        .help("exclude the cells where both apply, or say in [[overrides]] what holds there");
        self.conflicts.push(Conflict {
            process: self.process,
            key,
            said: conflict,
        });
    }

    /// What an override says holds, whatever toggles disagree on.
    fn settle(&mut self, key: Key<'_>) {
        if matches!(self.layer, Layer::Override) {
            let process = self.process;
            self.conflicts
                .retain(|known| known.process != process || !known.key.is(key));
        }
    }
}

/// Whether two toggles want the same of a key.
pub(super) trait Same: Sized {
    fn same<'a>(
        expansion: &mut Expansion<'_, 'a>,
        one: Chosen<'a, Self>,
        other: Chosen<'a, Self>,
    ) -> bool;
}

impl Same for String {
    fn same<'a>(
        expansion: &mut Expansion<'_, 'a>,
        one: Chosen<'a, Self>,
        other: Chosen<'a, Self>,
    ) -> bool {
        expansion.same_text((one.what, one.layer), (other.what, other.layer))
    }
}

impl Same for Vec<Template> {
    fn same<'a>(
        expansion: &mut Expansion<'_, 'a>,
        one: Chosen<'a, Self>,
        other: Chosen<'a, Self>,
    ) -> bool {
        let (left, right) = (&one.what.value, &other.what.value);
        left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(left, right)| expansion.same_text((left, one.layer), (right, other.layer)))
    }
}

impl Same for Vec<Command> {
    fn same<'a>(
        expansion: &mut Expansion<'_, 'a>,
        one: Chosen<'a, Self>,
        other: Chosen<'a, Self>,
    ) -> bool {
        let (left, right) = (&one.what.value, &other.what.value);
        left.len() == right.len()
            && left.iter().zip(right).all(|(left, right)| {
                let one = Chosen {
                    what: left,
                    layer: one.layer,
                };
                let other = Chosen {
                    what: right,
                    layer: other.layer,
                };
                Vec::<Template>::same(expansion, one, other)
            })
    }
}

impl Same for ReadyWay {
    fn same<'a>(
        expansion: &mut Expansion<'_, 'a>,
        one: Chosen<'a, Self>,
        other: Chosen<'a, Self>,
    ) -> bool {
        match (&one.what.value, &other.what.value) {
            (Self::Path(left), Self::Path(right)) | (Self::Log(left), Self::Log(right)) => {
                expansion.same_text((left, one.layer), (right, other.layer))
            }
            (Self::Command(left), Self::Command(right)) => {
                let one = Chosen {
                    what: left,
                    layer: one.layer,
                };
                let other = Chosen {
                    what: right,
                    layer: other.layer,
                };
                Vec::<Template>::same(expansion, one, other)
            }
            (Self::Tcp, Self::Tcp) => true,
            _ => false,
        }
    }
}

/// Values that no cell changes.
macro_rules! same_by_value {
    ($($type:ty),+) => {$(
        impl Same for $type {
            fn same<'a>(_: &mut Expansion<'_, 'a>, one: Chosen<'a, Self>, other: Chosen<'a, Self>) -> bool {
                one.what.value == other.what.value
            }
        }
    )+};
}

same_by_value!(bool, u16, u32, u64, Duration, Http, Pace, Scratch, Tls);
