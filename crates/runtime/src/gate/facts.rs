//! Facts about a call that follow from its kind or its addresses alone.

use mainpath_types::EffectClass;

/// Whether two addresses lead to the same server by the same scheme.
pub(crate) fn same_server(one: &str, other: &str) -> bool {
    let server = |url: &str| {
        url.split_once("://")
            .map(|(scheme, rest)| (scheme.to_string(), rest.split(['/', '?', '#']).next().map(str::to_string)))
    };
    server(one).is_some() && server(one) == server(other)
}

/// Whether calls of this kind may start processes, which are confined where that can be done. Finding that out takes a process
/// of its own, so it is asked for these alone.
pub(crate) fn starts_processes(effect: EffectClass) -> bool {
    matches!(effect, EffectClass::ProcessControl | EffectClass::SideEffecting)
}
