//! The tree of a trace's messages: what was said on the main path, on side branches, and before it was gone back.

use super::branches::{SideBranch, branches, main_path};
use super::handle::Trace;
use crate::Error;
use mainpath_core::NodeKind;
use mainpath_types::{EventId, Role, Seq};
use serde::{Deserialize, Serialize};

/// A message in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeMessage {
    /// Its number.
    pub seq: Seq,
    /// The message before it; `None` for a first one.
    pub parent: Option<Seq>,
    /// Who said it: what Mainpath itself says counts as a user's.
    pub role: Role,
    /// The event that holds it.
    pub event: EventId,
    /// Whether it lies on the main path, which is what the agent goes on from.
    pub is_current: bool,
    /// The side branch that it was made on, if it was.
    pub branch: Option<SideBranch>,
}

impl Trace {
    /// All messages in the order of their numbers, those that were gone back from among them.
    pub async fn tree(&self) -> Result<Vec<TreeMessage>, Error> {
        let read = self.look().await?;
        let (tree, mut side) = (&read.state.tree, branches(self.id(), &read.log.events));
        let path = main_path(tree);
        let nodes = tree.iter().filter_map(|(seq, node)| {
            let role = match node.kind {
                NodeKind::User
                | NodeKind::RepairPrompt
                | NodeKind::ReflectPrompt
                | NodeKind::SummaryPrompt
                | NodeKind::Skill
                | NodeKind::Injected => Role::User,
                NodeKind::Assistant { .. } | NodeKind::Malformed => Role::Assistant,
                NodeKind::Result(_) => Role::Tool,
                NodeKind::Cut => return None,
            };
            let is_current = path.contains(&seq);
            Some(TreeMessage {
                seq,
                parent: node.parent,
                role,
                event: node.event,
                is_current,
                branch: side.remove(&seq),
            })
        });
        Ok(nodes.collect())
    }
}
