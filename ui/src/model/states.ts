// The states that a person sees, of traces, calls and agents alike.

export type State = "running" | "waiting" | "ended" | "failed" | "stopped" | "denied" | "unknown" | "idle";

const OF_TRACE: Record<string, State> = {
  running: "running",
  waiting: "waiting",
  completed: "ended",
  stopped: "stopped",
  failed: "failed",
  // A trace whose process died: what it did last is not known.
  interrupted: "unknown",
  set_aside: "unknown",
  idle: "idle",
  imported: "idle",
  damaged: "failed",
};

/** Whether a trace has an open run that nothing drives. */
export function isCutOff(status: string | undefined): boolean {
  return status === "interrupted" || status === "set_aside";
}

/** The state of a trace by its status and, where its last run has ended, its finish reason. */
export function traceState(status: string, reason?: string | null): State {
  const now = OF_TRACE[status];
  if (status !== "completed" && status !== "failed" && now !== undefined) return now;
  if (reason === "final") return "ended";
  if (reason === "denied") return "denied";
  if (reason !== null && reason !== undefined) return reason === "stopped" ? "stopped" : "failed";
  return now ?? "unknown";
}

/** The state of a call that has ended. */
export function resolutionState(resolution: string): State {
  switch (resolution) {
    case "ok":
      return "ended";
    case "error":
      return "failed";
    case "denied":
      return "denied";
    case "skipped":
    case "interrupted":
      return "stopped";
    default:
      return "unknown";
  }
}

/** How long a call ran; null if it did not run or that is not known, as after a crash. */
export function ranFor(resolution: string, ms: number): number | null {
  return ms > 0 || resolution === "ok" || resolution === "error" ? ms : null;
}

/** The state of a request to a model that was given up. */
export function abandonedState(isLost: boolean | undefined): State {
  return isLost === true ? "unknown" : "stopped";
}

/** The state of an agent that has ended. */
export function outcomeState(outcome: string): State {
  switch (outcome) {
    case "result":
      return "ended";
    case "partial":
    case "stopped":
      return "stopped";
    case "failed":
      return "failed";
    default:
      return "unknown";
  }
}
