//! Keys are made and revoked, and what was done with them is looked at.

use super::traces::most;
use crate::about;
use crate::access::audit::Act;
use crate::access::keys::{ListedKey, NewKey, Who};
use crate::access::scope::Scope;
use crate::call::{Answer, Call, Nothing};
use crate::problem::{Kind, Problem};
use crate::route::{Route, RouteError, group};
use mainpath::types::TenantId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub fn routes() -> Result<Vec<Route>, RouteError> {
    group(
        "administration",
        vec![
            Route::json(
                about!(GET "/api/key" own_key "The key that asks: what it may do, and whose traces it reaches."),
                Scope::Read,
                own,
            ),
            Route::json(about!(GET "/api/keys" list_keys "The keys, without their secrets."), Scope::Admin, list),
            Route::answer(about!(POST "/api/keys" make_key "Makes a key. It is shown this once."), Scope::Admin, make)
                .map(|route| route.gives(201, "The key.")),
            Route::json(about!(DELETE "/api/keys/{name}" revoke_key "Revokes a key at once."), Scope::Admin, revoke),
            Route::json(
                about!(GET "/api/audit" list_acts "What was done that is in no trace: keys made and revoked, starts and ends."),
                Scope::Admin,
                audit,
            ),
        ],
    )
}

/// The keys of this key's tenant; the owner's are all.
fn reached(call: &Call<impl Sized, impl Sized>, tenant: &TenantId) -> bool {
    call.who.tenant == TenantId::local() || call.who.tenant == *tenant
}

/// Keys.
#[derive(Serialize, JsonSchema)]
struct KeyList {
    /// The keys.
    keys: Vec<ListedKey>,
}

async fn list(call: Call) -> Result<KeyList, Problem> {
    let keys = call.app.keys.all()?;
    Ok(KeyList { keys: keys.iter().filter(|key| reached(&call, &key.tenant)).map(ListedKey::from).collect() })
}

/// The key that asks.
#[derive(Serialize, JsonSchema)]
struct OwnKey {
    /// What it is called.
    name: String,
    /// What it may do.
    scopes: Vec<Scope>,
    /// Whose traces it reaches.
    tenant: TenantId,
}

async fn own(call: Call) -> Result<OwnKey, Problem> {
    let Who { name, scopes, tenant, .. } = call.who;
    Ok(OwnKey { name, scopes, tenant })
}

/// What is asked for of a key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KeyBody {
    /// What it is called.
    #[schemars(length(min = 1, max = 64))]
    name: String,
    /// What it may do.
    scopes: Vec<Scope>,
    /// Whose traces it reaches; without it, those of the key that asks.
    tenant: Option<TenantId>,
    /// After how many seconds it is good for nothing.
    #[schemars(range(min = 1))]
    expires_in_s: Option<u32>,
}

/// A new key.
#[derive(Serialize, JsonSchema)]
struct MadeKey {
    /// The key. Nobody can show it again.
    key: String,
    /// What it is called.
    name: String,
}

async fn make(call: Call<Nothing, KeyBody>) -> Result<Answer<MadeKey>, Problem> {
    let KeyBody { name, scopes, tenant, expires_in_s } = &call.body;
    let tenant = tenant.clone().unwrap_or_else(|| call.who.tenant.clone());
    if !reached(&call, &tenant) {
        return Err(Problem::field("/tenant", "is another than this key's"));
    }
    if let Some(scope) = scopes.iter().find(|scope| !call.who.may(**scope)) {
        return Err(Problem::field("/scopes", format!("{scope} is more than this key itself may do")));
    }
    let expires = expires_in_s.map(|seconds| call.app.now() + u64::from(seconds) * 1000);
    let wanted = NewKey { name: name.clone(), scopes: scopes.clone(), tenant: tenant.clone(), expires };
    let what = json!({"name": name, "scopes": scopes, "tenant": tenant});
    let key = call.app.keys.make(wanted, call.app.now())?;
    call.app.audit.add(call.app.now(), &call.who.name, "key_made", what)?;
    Ok(Answer::with(201, MadeKey { key, name: name.clone() }))
}

/// That a key is revoked.
#[derive(Serialize, JsonSchema)]
struct Revoked {
    /// Its name.
    name: String,
    /// `revoked`
    status: &'static str,
}

async fn revoke(call: Call) -> Result<Revoked, Problem> {
    let name = call.part("name").to_string();
    let none = || Problem::not_found(format!("there is no key {:?}", name.chars().take(80).collect::<String>()));
    let keys = call.app.keys.all()?;
    let key = keys.iter().find(|key| key.name == name).filter(|key| reached(&call, &key.tenant)).ok_or_else(none)?;
    if let Some(scope) = key.scopes.iter().find(|scope| !call.who.may(**scope)) {
        let detail = format!("{name:?} may do {scope}, which this key may not: it cannot revoke it");
        return Err(Problem::new(Kind::FORBIDDEN, detail));
    }
    call.app.audit.add(call.app.now(), &call.who.name, "key_revoked", json!({"name": key.name}))?;
    call.app.keys.revoke(&name)?;
    Ok(Revoked { name, status: "revoked" })
}

/// How much of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditQuery {
    /// At most so many.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u64>,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
struct Acts {
    /// Newest first.
    acts: Vec<Act>,
}

async fn audit(call: Call<AuditQuery>) -> Result<Acts, Problem> {
    if call.who.tenant != TenantId::local() {
        return Err(Problem::new(Kind::FORBIDDEN, "the acts of this server are its owner's to see"));
    }
    Ok(Acts { acts: call.app.audit.read(most(call.query.limit))? })
}
