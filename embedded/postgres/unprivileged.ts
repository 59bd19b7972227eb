import { spawn } from 'node:child_process'
import { chown, lstat, readdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'

/** A way to run PostgreSQL's programs. They refuse to run as root. */
export type Launcher = {
  name: 'same-user' | 'user-namespace' | 'capability' | 'nobody'
  command: (program: string, args: readonly string[]) => readonly [string, readonly string[]]
  spawnAs: { uid?: number; gid?: number }
  /** The required owner of the data folder, as a user id of the host. Undefined keeps the owner. */
  owner: number | undefined
}

const NOBODY = 65534

/**
 * PostgreSQL's programs may run as another user. They inherit nothing of this environment, because it contains the
 * password.
 */
export const PROGRAM_ENVIRONMENT = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }

const SAME_USER: Launcher = {
  name: 'same-user',
  command: (program, args) => [program, args],
  spawnAs: {},
  owner: undefined,
}

const USER_NAMESPACE: Launcher = {
  name: 'user-namespace',
  command: (program, args) => [
    'unshare',
    ['--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', program, ...args],
  ],
  spawnAs: {},
  owner: process.getuid?.(),
}

/**
 * Containers often forbid user namespaces but leave this capability to root. It grants access to a folder that only
 * root may enter.
 */
const CAPABILITY: Launcher = {
  name: 'capability',
  command: (program, args) => [
    'setpriv',
    [
      `--reuid=${NOBODY}`,
      `--regid=${NOBODY}`,
      '--clear-groups',
      '--inh-caps=-all,+dac_override',
      '--ambient-caps=-all,+dac_override',
      '--',
      program,
      ...args,
    ],
  ],
  spawnAs: {},
  owner: NOBODY,
}

const AS_NOBODY: Launcher = {
  name: 'nobody',
  command: (program, args) => [program, args],
  spawnAs: { uid: NOBODY, gid: NOBODY },
  owner: NOBODY,
}

/** The ways that this process can use, the least demanding first. None creates a user on the host. */
export function waysToLaunch(): readonly Launcher[] {
  if (process.getuid?.() === 0) return [USER_NAMESPACE, CAPABILITY, AS_NOBODY]
  return hasName() ? [SAME_USER] : [USER_NAMESPACE]
}

/**
 * Returns the first way by which PostgreSQL reaches both its program and `dataDir`. Gives the folder to the user that
 * will run PostgreSQL. Throws when no way works.
 */
export async function chooseLauncher(
  program: string,
  dataDir: string,
  candidates: readonly Launcher[] = waysToLaunch(),
): Promise<Launcher> {
  for (const launcher of candidates) {
    if (launcher.owner !== undefined) await own(dataDir, launcher.owner)
    if (await canReach(launcher, program, dataDir)) return launcher
  }
  throw new Error(
    `PostgreSQL does not run as root or as a user without a name, and no other way works for ${program} and ${dataDir}: ` +
      'run as another user, put both below a folder that others may enter, or set DATABASE_URL to use a server',
  )
}

/** A container may run under a bare number. initdb finds no user name for it and fails. */
function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

/** Gives a folder and all that is in it to a user. */
export async function own(path: string, uid: number): Promise<void> {
  const entry = await lstat(path)
  if (entry.uid === uid) return
  if (entry.isDirectory()) {
    for (const name of await readdir(path)) await own(join(path, name), uid)
  }
  if (!entry.isSymbolicLink()) await chown(path, uid, uid)
}

async function canReach(launcher: Launcher, program: string, dataDir: string): Promise<boolean> {
  const [command, args] = launcher.command('/bin/sh', [
    '-c',
    '"$1" --version && test -w "$2" && test -x "$2"',
    'sh',
    program,
    dataDir,
  ])
  return await new Promise((resolve) => {
    const probe = spawn(command, args, { stdio: 'ignore', cwd: '/', env: PROGRAM_ENVIRONMENT, ...launcher.spawnAs })
    probe.on('error', () => resolve(false))
    probe.on('close', (code) => resolve(code === 0))
  })
}
