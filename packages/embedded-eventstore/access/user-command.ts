import { parseArgs } from 'node:util'
import { text } from 'node:stream/consumers'
import { userLine } from './users.ts'

export const USER_USAGE =
  'user --login NAME [--groups A,B]   print a line for the users file; the password is read from standard input'

/** Prints a line for the users file. Rejects an invalid login or password. */
export async function printUser(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { login: { type: 'string' }, groups: { type: 'string', default: '' } },
  })
  const { login, groups } = values
  if (login === undefined || login === '' || login.includes(':')) throw new Error(`usage: ${USER_USAGE}`)
  const [password = ''] = (await text(process.stdin)).split('\n')
  if (password === '') throw new Error('the password is expected on standard input')
  const names = groups.split(',').map((name) => name.trim())
  process.stdout.write(
    `${await userLine(
      login,
      password,
      names.filter((name) => name !== ''),
    )}\n`,
  )
}
