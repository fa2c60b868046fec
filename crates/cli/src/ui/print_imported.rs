//! Messages that another program recorded, as the run would have shown them.

use crate::ui::print::Printer;
use crate::ui::text::{gist, plain, short};
use mainpath::types::{MessageImported, Role, text_of, written_calls};

impl Printer {
    /// A message with the results of its calls.
    pub(super) fn imported(&mut self, data: &MessageImported) {
        let said = data.said();
        if data.role != Role::Assistant {
            return self.said("said", &said, 300);
        }
        let text = self.long.take().unwrap_or_else(|| text_of(&said));
        self.out.text(&plain(&text));
        self.out.close();
        let calls: Vec<_> = written_calls(&said).collect();
        for call in &calls {
            self.line("→", &format!("{}: {}", short(call.name, 40), gist(call.arguments)));
        }
        for (call, (result, is_error)) in calls.iter().zip(data.results()) {
            let (mark, failed) = if is_error { ("✗", " failed:") } else { ("✓", "") };
            self.line(mark, &format!("{}{failed} {}", short(call.name, 40), short(&text_of(result), 100)));
        }
    }
}
