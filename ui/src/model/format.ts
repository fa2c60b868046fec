// Numbers for people.

/** An amount of money, given in millionths. */
export function money(micros: number, locale: string): string {
  const amount = micros / 1e6;
  const digits = amount !== 0 && Math.abs(amount) < 0.01 ? 4 : 2;
  return new Intl.NumberFormat(locale, { style: "currency", currency: "USD", minimumFractionDigits: digits, maximumFractionDigits: digits }).format(amount);
}

export function count(n: number, locale: string): string {
  return new Intl.NumberFormat(locale).format(n);
}

/** A duration: `340 ms`, `2.4 s`, `3 min 12 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

export interface Age {
  unit: "now" | "seconds" | "minutes" | "hours" | "days";
  n: number;
}

/** How long ago something was, in the largest unit that fits. */
export function age(then: number, now: number): Age {
  const seconds = Math.max(0, Math.floor((now - then) / 1000));
  if (seconds < 5) return { unit: "now", n: 0 };
  if (seconds < 60) return { unit: "seconds", n: seconds };
  if (seconds < 3600) return { unit: "minutes", n: Math.floor(seconds / 60) };
  if (seconds < 86_400) return { unit: "hours", n: Math.floor(seconds / 3600) };
  return { unit: "days", n: Math.floor(seconds / 86_400) };
}
