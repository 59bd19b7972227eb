import { spawn } from 'node:child_process'
import { chown, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** How to run a program so that PostgreSQL accepts it, which refuses to run as root. */
export type Launcher = {
  name: 'same-user' | 'user-namespace' | 'capability' | 'nobody'
  command: (program: string, args: readonly string[]) => readonly [string, readonly string[]]
  spawnAs: { uid?: number; gid?: number }
  /** Who has to own the data folder, as the host sees it; undefined leaves it alone. */
  owner: number | undefined
}

const NOBODY = 65534

const SAME_USER: Launcher = {
  name: 'same-user',
  command: (program, args) => [program, args],
  spawnAs: {},
  owner: undefined,
}

/** Ordered by what they ask of the host. None creates a user; the first that can reach program and data is taken. */
const ROOT_LAUNCHERS: readonly Launcher[] = [
  {
    name: 'user-namespace',
    command: (program, args) => [
      'unshare',
      ['--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', program, ...args],
    ],
    spawnAs: {},
    owner: 0,
  },
  {
    // Containers often forbid user namespaces but leave root this capability, without which another user could not pass
    // a folder that only root may enter.
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
  },
  { name: 'nobody', command: (program, args) => [program, args], spawnAs: { uid: NOBODY, gid: NOBODY }, owner: NOBODY },
]

/**
 * Chooses how PostgreSQL is run over `dataDir`, and gives the folder to the user it will run as.
 * Throws when this is root and no way leads to both the program and the folder.
 */
export async function chooseLauncher(program: string, dataDir: string, only?: Launcher['name']): Promise<Launcher> {
  if (process.getuid?.() !== 0) return SAME_USER
  const candidates = ROOT_LAUNCHERS.filter((launcher) => only === undefined || launcher.name === only)
  for (const launcher of candidates) {
    if (launcher.owner !== undefined) await own(dataDir, launcher.owner)
    if (await canReach(launcher, program, dataDir)) return launcher
  }
  throw new Error(
    `PostgreSQL does not run as root, and no other user can reach ${program} and ${dataDir}: ` +
      'run as another user, put both below a folder that others may enter, or set DATABASE_URL to use a server',
  )
}

async function own(path: string, uid: number): Promise<void> {
  const entry = await lstat(path)
  if (entry.uid === uid) return
  if (entry.isDirectory()) {
    for (const name of await readdir(path)) await own(join(path, name), uid)
  }
  if (!entry.isSymbolicLink()) await chown(path, uid, uid)
}

async function canReach(launcher: Launcher, program: string, dataDir: string): Promise<boolean> {
  const [command, args] = launcher.command('/bin/sh', ['-c', '"$1" --version && test -w "$2"', 'sh', program, dataDir])
  return await new Promise((resolve) => {
    const probe = spawn(command, args, { stdio: 'ignore', cwd: '/', ...launcher.spawnAs })
    probe.on('error', () => resolve(false))
    probe.on('close', (code) => resolve(code === 0))
  })
}
