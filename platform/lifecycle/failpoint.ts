/** A place at which a crash test may kill the process. */
export type Failpoint = (name: string) => void

/**
 * Returns a function that kills this process (SIGKILL) at the configured name. So a crash happens exactly between two
 * steps. The configuration refuses FAILPOINT in production.
 */
export function createFailpoint(configuration: { readonly failpoint: string | undefined }): Failpoint {
  const { failpoint } = configuration
  if (failpoint === undefined) return () => undefined
  return (name) => {
    if (name === failpoint) process.kill(process.pid, 'SIGKILL')
  }
}
