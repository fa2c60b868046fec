// The goal tree of a run, from `goal_tree` of a trace.

export interface GoalStats {
  calls: number;
  cost_micros: number;
  duration_ms: number;
  tokens: number;
  turns: number;
}

export interface Goal {
  id: number;
  parent_id: number | null;
  description: string;
  status: string;
  summary: string | null;
  reason: string;
  self_stats: GoalStats;
  cumulative_stats: GoalStats;
}

export interface GoalNode extends Goal {
  children: GoalNode[];
}

export interface Plan {
  mission: string;
  currentId: number | null;
  roots: GoalNode[];
  /** Goals that are done, and all that were not given up. */
  done: number;
  all: number;
}

export function planOf(tree: Record<string, unknown>): Plan {
  const goals = (Array.isArray(tree["goals"]) ? tree["goals"] : []) as Goal[];
  const nodes = new Map(goals.map((goal) => [goal.id, { ...goal, children: [] as GoalNode[] }]));
  const roots: GoalNode[] = [];
  for (const node of nodes.values()) {
    const parent = node.parent_id === null ? undefined : nodes.get(node.parent_id);
    (parent?.children ?? roots).push(node);
  }
  const counted = goals.filter((goal) => goal.status !== "abandoned");
  return {
    mission: typeof tree["mission"] === "string" ? tree["mission"] : "",
    currentId: typeof tree["current_id"] === "number" ? tree["current_id"] : null,
    roots,
    done: counted.filter((goal) => goal.status === "completed").length,
    all: counted.length,
  };
}
