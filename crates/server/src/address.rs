//! The addresses of traces: their ids with what an address cannot have encoded.

use mainpath::types::TraceId;

/// Where a trace is found.
pub fn of_trace(id: &TraceId) -> String {
    let mut address = String::from("/api/traces/");
    for byte in id.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' => {
                address.push(char::from(byte))
            }
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

/// Where it can be watched.
pub fn of_events(id: &TraceId) -> String {
    format!("{}/events", of_trace(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_another_machine_is_one_part_of_the_address() {
        let address = |id: &str| of_events(&id.parse().unwrap());
        assert_eq!(address("t@delegate-5-001"), "/api/traces/t@delegate-5-001/events");
        assert_eq!(address("agent://host:80/t.1"), "/api/traces/agent%3A%2F%2Fhost%3A80%2Ft.1/events");
    }
}
