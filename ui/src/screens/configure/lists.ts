import type { Schemas } from "../../api/client";

// What the lists of the server say (`GET /api/tools` and its like).

export type Tool = Schemas["ToolSpec"];
export type Model = Schemas["ListedModel"];
export type Preset = Schemas["ListedPreset"];
export type Skill = Schemas["SkillRow"];
export type Experience = Schemas["Experience"];
export type Rule = Schemas["ListedRule"];
