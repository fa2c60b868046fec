//! Secrets that are told by how they begin: a vendor's prefix, then so many random characters.
//!
//! The formats are facts of two maintained rule sets: the default rules of gitleaks (`config/gitleaks.toml`, commits 009e025 and b58d3f1)
//! and the plugins of `detect-secrets` 1.5.0 (PyPI). Lengths are looser here than there where vendors have changed them before.

use super::look::{Look, entropy, run};

/// One format.
pub(super) struct Token {
    /// Its name, as handles and `off` have it.
    pub kind: &'static str,
    /// How it begins.
    pub prefix: &'static str,
    /// So many bytes of the prefix are no secret: the rest of an address, say.
    open: usize,
    /// What may stand before it.
    after: fn(&[u8], usize) -> bool,
    /// What it consists of.
    of: fn(u8) -> bool,
    /// How many such characters follow the prefix.
    least: usize,
    most: usize,
    /// The least entropy of these, in bits a character: `xxxx…` and `your-key-here` are no keys.
    bits: f64,
}

const fn token(kind: &'static str, prefix: &'static str, of: fn(u8) -> bool, least: usize, most: usize) -> Token {
    Token { kind, prefix, open: 0, after: begins_word, of, least, most, bits: 3.0 }
}

/// An address whose end is the secret.
const fn hook(kind: &'static str, prefix: &'static str, of: fn(u8) -> bool, least: usize) -> Token {
    Token { open: prefix.len(), after: |_, _| true, bits: 2.0, ..token(kind, prefix, of, least, 120) }
}

const fn aws(prefix: &'static str) -> Token {
    Token { bits: 2.5, ..token("aws-key", prefix, |b| b.is_ascii_uppercase() || b.is_ascii_digit(), 16, 16) }
}

const fn letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

const fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) const TOKENS: &[Token] = &[
    aws("AKIA"),
    aws("ASIA"),
    aws("ABIA"),
    aws("ACCA"),
    token("github-token", "ghp_", letter_or_digit, 36, 255),
    token("github-token", "gho_", letter_or_digit, 36, 255),
    token("github-token", "ghu_", letter_or_digit, 36, 255),
    token("github-token", "ghs_", letter_or_digit, 36, 255),
    token("github-token", "ghr_", letter_or_digit, 36, 255),
    token("github-token", "github_pat_", word, 80, 255),
    token("gitlab-token", "glpat-", |b| word(b) || b == b'.', 20, 255),
    token("gitlab-token", "gldt-", word, 20, 255),
    token("gitlab-token", "glft-", word, 20, 255),
    token("gitlab-token", "glsoat-", word, 20, 255),
    token("gitlab-token", "glrt-", |b| word(b) || b == b'.', 20, 255),
    token("gitlab-token", "glptt-", word, 40, 255),
    token("gitlab-token", "glcbt-", word, 20, 255),
    token("gitlab-token", "glimt-", word, 25, 255),
    token("gitlab-token", "glagent-", word, 50, 1024),
    token("gitlab-token", "gloas-", word, 64, 255),
    token("npm-token", "npm_", letter_or_digit, 36, 255),
    token("pypi-token", "pypi-AgEIcHlwaS5vcmc", word, 50, 1024),
    token("pypi-token", "pypi-AgENdGVzdC5weXBpLm9yZw", word, 50, 1024),
    token("slack-token", "xoxa-", word, 16, 255),
    token("slack-token", "xoxb-", word, 16, 255),
    token("slack-token", "xoxe-", word, 16, 255),
    token("slack-token", "xoxe.xox", word, 16, 255),
    token("slack-token", "xoxo-", word, 16, 255),
    token("slack-token", "xoxp-", word, 16, 255),
    token("slack-token", "xoxr-", word, 16, 255),
    token("slack-token", "xoxs-", word, 16, 255),
    token("slack-token", "xapp-", word, 16, 255),
    hook("slack-token", "hooks.slack.com/services/", |b| letter_or_digit(b) || b == b'/', 24),
    hook("slack-token", "hooks.slack.com/workflows/", |b| letter_or_digit(b) || b == b'/', 24),
    token("stripe-key", "sk_live_", letter_or_digit, 16, 255),
    token("stripe-key", "sk_test_", letter_or_digit, 16, 255),
    token("stripe-key", "rk_live_", letter_or_digit, 16, 255),
    token("stripe-key", "rk_test_", letter_or_digit, 16, 255),
    token("openai-key", "sk-proj-", word, 40, 255),
    token("openai-key", "sk-svcacct-", word, 40, 255),
    token("openai-key", "sk-admin-", word, 40, 255),
    // The older form, and the form of many servers that speak OpenAI's format.
    token("openai-key", "sk-", letter_or_digit, 32, 255),
    token("anthropic-key", "sk-ant-", word, 24, 255),
    token("google-key", "AIza", word, 35, 35),
    token("google-key", "GOCSPX-", word, 28, 255),
    token("google-key", "ya29.", |b| word(b) || b == b'.', 20, 2048),
    token("huggingface-token", "hf_", letter_or_digit, 34, 40),
    token("perplexity-key", "pplx-", letter_or_digit, 48, 255),
    token("sendgrid-key", "SG.", |b| word(b) || matches!(b, b'.' | b'='), 66, 66),
    // The number before the colon names the bot; what follows is its secret, which has begun with AA for years.
    Token { open: 1, after: follows_number, ..token("telegram-token", ":AA", word, 33, 33) },
    hook("feishu-webhook", "/open-apis/bot/v2/hook/", word, 32),
    hook("feishu-webhook", "/open-apis/bot/hook/", word, 32),
    // Keys of Mainpath's own servers: 32 bytes in base64url.
    token("mainpath-key", "mp_", word, 43, 43),
    token("vault-token", "hvs.", word, 24, 255),
    token("vault-token", "hvb.", word, 100, 400),
    token("docker-token", "dckr_pat_", word, 27, 255),
    token("docker-token", "dckr_oat_", word, 27, 255),
    token("digitalocean-token", "dop_v1_", letter_or_digit, 64, 64),
    token("digitalocean-token", "doo_v1_", letter_or_digit, 64, 64),
    token("digitalocean-token", "dor_v1_", letter_or_digit, 64, 64),
    token("databricks-token", "dapi", |b| b.is_ascii_hexdigit() || b == b'-', 32, 34),
    token("shopify-token", "shpat_", letter_or_digit, 32, 64),
    token("shopify-token", "shpca_", letter_or_digit, 32, 64),
    token("shopify-token", "shppa_", letter_or_digit, 32, 64),
    token("shopify-token", "shpss_", letter_or_digit, 32, 64),
    token("linear-key", "lin_api_", letter_or_digit, 40, 64),
    token("doppler-token", "dp.pt.", letter_or_digit, 40, 64),
    token("doppler-token", "dp.st.", |b| word(b) || b == b'.', 40, 128),
    token("twilio-key", "SK", |b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b), 32, 32),
    hook("discord-webhook", "discord.com/api/webhooks/", |b| word(b) || b == b'/', 60),
    hook("discord-webhook", "discordapp.com/api/webhooks/", |b| word(b) || b == b'/', 60),
    token("notion-token", "ntn_", letter_or_digit, 40, 64),
    token("notion-token", "secret_", letter_or_digit, 43, 43),
    token("figma-token", "figd_", word, 36, 64),
    token("atlassian-token", "ATATT3", |b| word(b) || b == b'=', 100, 255),
    token("newrelic-key", "NRAK-", letter_or_digit, 27, 27),
    token("grafana-token", "glsa_", word, 41, 64),
    token("grafana-token", "glc_", |b| letter_or_digit(b) || matches!(b, b'+' | b'/' | b'='), 32, 400),
    token("grafana-token", "eyJrIjoi", |b| letter_or_digit(b) || b == b'=', 70, 400),
    token("sentry-token", "sntryu_", letter_or_digit, 64, 64),
    token("sentry-token", "sntrys_", |b| word(b) || matches!(b, b'+' | b'/' | b'='), 80, 500),
    token("heroku-key", "HRKU-", word, 36, 64),
    token("xai-key", "xai-", letter_or_digit, 70, 100),
    token("groq-key", "gsk_", letter_or_digit, 48, 64),
    token("openrouter-key", "sk-or-v1-", letter_or_digit, 64, 64),
    token("age-key", "AGE-SECRET-KEY-1", |b| b.is_ascii_uppercase() || b.is_ascii_digit(), 58, 58),
    token("fly-token", "fo1_", word, 43, 43),
    token("fly-token", "fm2_", |b| letter_or_digit(b) || matches!(b, b'+' | b'/' | b'='), 100, 2048),
    token("planetscale-token", "pscale_tkn_", |b| word(b) || matches!(b, b'=' | b'.'), 32, 64),
    token("planetscale-token", "pscale_pw_", |b| word(b) || matches!(b, b'=' | b'.'), 32, 64),
    token("postman-key", "PMAK-", |b| letter_or_digit(b) || b == b'-', 59, 59),
    token("pulumi-token", "pul-", letter_or_digit, 40, 40),
    token("rubygems-key", "rubygems_", letter_or_digit, 48, 48),
    token("brevo-key", "xkeysib-", |b| letter_or_digit(b) || b == b'-', 81, 81),
    token("square-token", "sq0atp-", word, 22, 60),
    token("prefect-token", "pnu_", letter_or_digit, 36, 36),
];

impl Token {
    /// What there is at a place where the prefix stands, in whatever case.
    pub fn look(&self, text: &[u8], at: usize) -> Look {
        let from = at + self.prefix.len();
        if text.get(at..from) != Some(self.prefix.as_bytes()) || !(self.after)(text, at) {
            return Look::Nothing;
        }
        let end = run(text, from, self.of);
        // What follows a sentence is no part of a key.
        let trimmed = end - text[from..end].iter().rev().take_while(|byte| **byte == b'.').count();
        let tail = &text[from..trimmed];
        let fits = (self.least..=self.most).contains(&tail.len()) && self.is_random(tail);
        let whole = fits.then_some(trimmed);
        match (end < text.len(), whole) {
            _ if end - from > self.most => Look::Nothing,
            (true, None) => Look::Nothing,
            (true, Some(end)) => Look::Secret(at + self.open..end),
            (false, end) => Look::Open { start: at + self.open, end },
        }
    }

    /// Whether the text ends inside of the prefix: where the secret would begin.
    pub fn begins(&self, text: &[u8], at: usize) -> bool {
        let rest = &text[at..];
        rest.len() < self.prefix.len() && self.prefix.as_bytes().starts_with(rest) && (self.after)(text, at)
    }

    /// Whether a text that ends inside of the prefix holds a part of the secret.
    pub fn is_open(&self) -> bool {
        self.open > 1
    }

    fn is_random(&self, tail: &[u8]) -> bool {
        let has = |what: fn(&u8) -> bool| tail.iter().any(what);
        let mixed = has(u8::is_ascii_digit) || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
        let is_aws = self.kind == "aws-key";
        (mixed || is_aws) && !(is_aws && tail.ends_with(b"EXAMPLE")) && entropy(tail) >= self.bits
    }
}

/// Whether no word goes on at this place. The letter of an escape such as `\n`, two digits after `%` and the end of a
/// terminal's colour sequence are no part of a word.
pub(super) fn begins_word(text: &[u8], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|at| text.get(at)).copied().unwrap_or(b' ');
    match before(1) {
        b'n' | b'r' | b't' | b'b' | b'f' if before(2) == b'\\' => true,
        b'm' => {
            let mut digits = text[..at - 1].iter().rev().take(12);
            digits.find(|byte| !byte.is_ascii_digit() && **byte != b';') == Some(&b'[')
        }
        byte if byte.is_ascii_hexdigit() && before(2).is_ascii_hexdigit() && before(3) == b'%' => true,
        byte => !byte.is_ascii_alphanumeric(),
    }
}

fn follows_number(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take(12).take_while(|byte| byte.is_ascii_digit()).count() >= 8
}
