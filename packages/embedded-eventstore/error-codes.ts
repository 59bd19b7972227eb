/** The code of an error from Node.js, such as `ENOENT`. Undefined for errors without a code. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The result of a call on a file or a folder. Undefined if the file or folder does not exist. */
export async function ifPresent<Result>(call: Promise<Result>): Promise<Result | undefined> {
  try {
    return await call
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
