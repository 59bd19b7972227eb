type End = () => Promise<void>

const ends: End[] = []

/** For what only end-to-end files of a worker share. It ends before the first other file. */
export function endAfterEndToEnd(end: End): void {
  ends.push(end)
}

/** Called before each file. End-to-end files run before most others, so little starts again. */
export async function endUnlessEndToEnd(file: string): Promise<void> {
  if (!file.includes('.e2e.')) await Promise.all(ends.splice(0).map((end) => end()))
}
