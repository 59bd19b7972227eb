/**
 * Calls `onGone` when the other end of stdin closes. The kernel closes it however the parent dies, SIGKILL included,
 * which no signal handler of the parent could promise.
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

/** A dead parent reads neither our log nor our ready line; writing to it must not turn an orderly stop into a crash. */
export function tolerateClosedOutput(): void {
  process.stdout.on('error', () => {})
  process.stderr.on('error', () => {})
}
