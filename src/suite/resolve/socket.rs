//! Servers that listen on a Unix-domain socket.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::suite::code;
use crate::suite::model::Template;
use crate::suite::schema::Opt;
use crate::suite::template::Place;
use std::ops::Range;

/// The longest path of a Unix-domain socket on Linux, in bytes.
const LONGEST_SOCKET_PATH: usize = 107;

impl Resolver {
    /// The path of a Unix-domain socket. Who listens there listens on no port.
    pub(super) fn socket(
        &mut self,
        socket: Opt<String>,
        by_port: [(&str, Option<Range<usize>>); 2],
        place: Place,
    ) -> Option<Template> {
        let socket = self.template(socket?, place);
        for (key, span) in by_port {
            if let Some(span) = span {
                self.say(
                    Diagnostic::error(
                        code::CONFLICT,
                        format!("what listens on a Unix-domain socket has no `{key}`"),
                        span,
                    )
                    .label("how it would be reached otherwise")
                    .and(socket.span.clone(), "the socket")
                    .help("take one of them out"),
                );
            }
        }
        // What is rendered is as long as it turns out, and looked at before its process is started.
        let rendered = socket.value.contains("{{") || socket.value.contains("{%");
        if !rendered {
            self.socket_path(&socket.value, socket.span.clone());
        }
        Some(socket)
    }

    /// That a path can be that of a Unix-domain socket.
    pub(super) fn socket_path(&mut self, path: &str, span: Range<usize>) {
        if (1..=LONGEST_SOCKET_PATH).contains(&path.len()) {
            return;
        }
        self.say(
            Diagnostic::error(
                code::BAD_VALUE,
                format!(
                    "the path of a Unix-domain socket has 1 to {LONGEST_SOCKET_PATH} bytes, and this one has {}",
                    path.len()
                ),
                span,
            )
            .help("\"{{ dir }}/app.sock\" is in a scratch folder with a short path"),
        );
    }
}
