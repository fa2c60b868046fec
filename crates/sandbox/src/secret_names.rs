//! Names of environment variables that hold secrets.

use std::ffi::OsString;

/// The last word of such names.
const LAST_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "SK",
    "SEED",
    "PASS",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
    "COOKIE",
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "JWT",
    "DSN",
    "WEBHOOK",
];

/// Endings of such names that are more than a word, or less: `AWS_ACCESS_KEY_ID`, `PGPASSWORD`.
const ENDINGS: &[&str] = &["PASSWORD", "_KEY_ID", "_SESSION_ID"];

/// The working folder of shells.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// Returns true if the name of an environment variable says that it holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let last = name.rsplit('_').next().unwrap_or_default();
    !FOLDERS.contains(&name.as_str())
        && (LAST_WORDS.contains(&last) || ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

/// The variables of this process whose names say that they hold secrets, whatever they hold.
pub fn secret_variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_secret_name(&name.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::is_secret_name;

    #[test]
    fn names_of_secrets_are_known_by_their_endings() {
        let secret = [
            "OPENAI_API_KEY",
            "github_token",
            "PGPASSWORD",
            "MYSQL_PWD",
            "AWS_ACCESS_KEY_ID",
            "STRIPE_SK",
            "JWT",
            "NPM_AUTH",
            "SIGNING_SEED",
            "SENTRY_DSN",
            "APP_SESSION_ID",
        ];
        assert_eq!(secret.map(is_secret_name), [true; 11]);
        let other = [
            "PATH",
            "KEYBOARD",
            "HOME",
            "PWD",
            "OLDPWD",
            "SSH_AUTH_SOCK",
            "DATABASE_URL",
            "TOKENIZER",
            "DESKTOP_SESSION",
        ];
        assert_eq!(other.map(is_secret_name), [false; 9]);
    }
}
