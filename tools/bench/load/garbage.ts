/** Lets a process collect all its garbage, so that its memory is what it holds. It must run with `--inspect=127.0.0.1:<port>`. */
export async function collectGarbage(port: number): Promise<void> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  const answers = Promise.withResolvers<void>()
  socket.addEventListener('error', () => answers.reject(new Error(`no inspector answers at port ${port}`)))
  socket.addEventListener('open', () => socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' })))
  socket.addEventListener('message', () => answers.resolve())
  try {
    await answers.promise
  } finally {
    socket.close()
  }
}
