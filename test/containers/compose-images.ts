import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { textAt } from '../../app/demo/members.ts'

const compose: unknown = parse(readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8'), {
  merge: true,
})

/** The image of a service of the Compose file, with its digest: the tests run on what users run. */
export function imageOf(service: string): string {
  return textAt(compose, 'services', service, 'image')
}
