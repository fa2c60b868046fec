//! Keys of maps in arguments.

use super::*;
use mainpath_types::ToolSpec;

#[test]
fn a_key_of_a_map_is_a_value_unless_it_names_an_argument() {
    let mut all = office();
    all.note_text(
        "Book the Grand Riverside Hotel or the Lagoon for room-41; set Start Date, a subject and Content-Type.",
    );
    all.note_description(&ToolSpec {
        name: "mcp__mail__send".into(),
        input_schema: json!({"properties": {"dates": {"properties": {"Start Date": {"type": "string"}}}}}).into(),
        ..ToolSpec::default()
    });
    result(&mut all, 6, "mcp__mail__hotels", &json!({}), Origin::Mcp, r#"{"Lakeside Inn": 4, "Palace": 5}"#);
    all.note_text("The Lakeside Inn is nice.");
    for (arguments, asked) in [
        (json!({"Grand Riverside Hotel": 1}), true),
        (json!({"bookings": {"Grand Riverside Hotel": {"nights": 1}}}), true),
        (json!({"bookings": [{"Lagoon": 1}]}), true),
        (json!({"bookings": "{\"Grand Riverside Hotel\": 1}"}), true),
        (json!({"rooms": {"room-41": 1}}), true),
        (json!({"bookings": {"Harbour View": 1}}), false),
        (json!({"bookings": {"Lakeside Inn": 1}}), false),
        (json!({"dates": {"Start Date": 1}}), false),
        (json!({"options": {"subject": 1}}), false),
        (json!({"headers": {"Content-Type": 1}}), false),
    ] {
        assert_eq!(is_asked(&all, arguments.clone()), asked, "{arguments}");
    }
}
