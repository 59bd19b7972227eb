/**
 * Ends a step whose worker stops, so that it records no outcome: what a stop cuts off is not a try (architecture
 * section 6). A step that merely took too long goes on, and its time-out is an outcome like any other.
 */
export function throwIfStopping(signal: AbortSignal): void {
  const isTimeout = signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
  if (signal.aborted && !isTimeout) signal.throwIfAborted()
}
