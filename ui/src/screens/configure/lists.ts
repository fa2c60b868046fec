// What the lists of the server say (`GET /api/tools` and its like), as far as it is shown here.

export interface Tool {
  name: string;
  description: string;
  effect: string;
}

export interface Model {
  provider: string;
  format: string;
  local: boolean;
  has_key: boolean;
  model: string | null;
  context_window: number | null;
  price: { input: number; output: number } | null;
}

export interface Preset {
  name: string;
  description: string;
  layer: string;
  standing: string;
  faults: unknown[];
  tools: string[] | null;
  denied_tools: string[];
  skills: string[] | null;
  model: string | null;
  temperature: number | null;
  instructions: string;
  limits: { turns: number | null; calls: number | null; tokens: number | null; time_ms: number | null; money: number | null };
}

export interface Skill {
  name: string;
  description: string;
  source: string;
  state: string;
  effect: string | null;
  disable_model_invocation: boolean;
}

export interface Experience {
  id: string;
  category: string;
  state: string[];
  intent: string[];
  helpful: number;
  harmful: number;
  status: string;
  text: string;
  trace_id: string | null;
}

export interface Rule {
  id: string;
  layer: string;
  decision: "allow" | "ask" | "deny";
  match: string[];
  origin: string[];
  effect: string[];
  reason: string | null;
  always: boolean;
  ignored: string | null;
}
