//! What somebody may have meant who wrote a model's name that is none.

use crate::registry::Registry;
use crate::words::one_line;

/// What may have been meant, as the rest of a sentence.
pub(crate) fn hint(registry: &Registry, name: &str) -> String {
    let shown = one_line(name, 100);
    if name.starts_with("http://") || name.starts_with("https://") {
        let own = if name.contains('#') { "" } else { "#MODEL" };
        return format!(" (did you mean \"openai-compatible:{shown}{own}\"?)");
    }
    let (form, rest) = name.split_once(':').unwrap_or((name, ""));
    let vendor = vendor(registry, name).filter(|_| rest.is_empty());
    let meant = vendor.map(|provider| format!("{provider}:{shown}")).or_else(|| near(registry, form, rest));
    let meant = meant.filter(|meant| meant != name);
    meant.map(|meant| format!(" (did you mean \"{meant}\"?)")).unwrap_or_default()
}

/// The provider that has models whose names begin like this one: `gpt-…` is OpenAI's.
fn vendor<'a>(registry: &'a Registry, name: &str) -> Option<&'a str> {
    let family = name.split_inclusive('-').next().filter(|family| family.len() > 2 && family.ends_with('-'))?;
    let has = |model: &str| model.split_once(':').is_some_and(|(_, own)| own.starts_with(family));
    let provider = registry.providers().iter().find(|provider| registry.models_of(provider).any(has))?;
    Some(&provider.name)
}

/// The form that is written most like this one, with what follows.
fn near(registry: &Registry, form: &str, rest: &str) -> Option<String> {
    let form = form.to_lowercase();
    let names = registry.providers().iter().map(|provider| provider.name.as_str()).chain(["scripted", "playback"]);
    let (_, known) = names
        .map(|known| (distance(&form, known), known))
        .filter(|(distance, known)| *distance <= known.len() / 3)
        .min_by_key(|(distance, _)| *distance)?;
    if !rest.is_empty() {
        return Some(format!("{known}:{}", one_line(rest, 100)));
    }
    Some(match registry.provider(known) {
        None if known == "playback" => format!("{known}:TRACE"),
        None => known.into(),
        Some(provider) if provider.base_url.is_none() => format!("{known}:URL#MODEL"),
        Some(_) => format!("{known}:MODEL"),
    })
}

/// How many letters must be changed, added or left out to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(40).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
