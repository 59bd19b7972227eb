/** A place at which a crash test kills the process. */
export type Failpoint = (name: string) => void

/**
 * Returns a function that ends this process with SIGKILL when its name is the configured one, so that a crash falls
 * exactly between two steps. The configuration refuses FAILPOINT in production.
 */
export function createFailpoint(configuration: { readonly failpoint: string | undefined }): Failpoint {
  const { failpoint } = configuration
  if (failpoint === undefined) return () => undefined
  return (name) => {
    if (name === failpoint) process.kill(process.pid, 'SIGKILL')
  }
}
