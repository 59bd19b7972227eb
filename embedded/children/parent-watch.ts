/**
 * Calls `onGone` when the other end of stdin closes. The kernel closes it for every kind of death of the parent. That
 * includes SIGKILL, which no signal handler of the parent can catch.
 */
export function exitWhenParentGone(onGone: () => void): void {
  let called = false
  const once = (): void => {
    if (called) return
    called = true
    onGone()
  }
  process.stdin.on('end', once)
  process.stdin.on('close', once)
  process.stdin.on('error', once)
  process.stdin.resume()
}

/**
 * A dead parent reads neither the log nor the ready line. A failed write to it must not turn an orderly stop into a
 * crash.
 */
export function tolerateClosedOutput(): void {
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
}
