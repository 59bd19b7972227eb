import { parseArgs } from 'node:util'
import { sampleOf } from '../sample.ts'
import { allMutants } from './all-mutants.ts'
import { catchersOf, type Catcher, type Mutant } from './mutant.ts'
import { Clone, type Ending } from './planting.ts'
import { wrongArguments } from './wrong-arguments.ts'

const USAGE = `Plants deliberate faults one at a time in a copy of this checkout and runs the tests that must detect them.

  npm run mutants                    all faults
  npm run mutants -- NAME…           only these
  npm run mutants -- --sample N      N of them at random
  npm run mutants -- --list          names and descriptions

Exit code 1 when a fault survives, or when a test fails without a fault.
`

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    sample: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const wrong = wrongArguments(names, values.sample)
if (values.help || wrong.length > 0) {
  process.stdout.write([...wrong, USAGE].join('\n\n'))
  process.exitCode = wrong.length > 0 ? 2 : 0
} else if (values.list) {
  for (const { name, fault } of allMutants) process.stdout.write(`${name.padEnd(28)} ${fault}\n`)
} else {
  const chosen = names.length === 0 ? allMutants : allMutants.filter(({ name }) => names.includes(name))
  process.exitCode = (await runAll(values.sample === undefined ? chosen : sampleOf(chosen, Number(values.sample))))
    ? 0
    : 1
}

async function runAll(mutants: readonly Mutant[]): Promise<boolean> {
  const clone = await Clone.make()
  try {
    if (!(await passesWithoutFaults(clone, mutants))) return false
    const survivors: string[] = []
    for (const mutant of mutants) {
      const startedAt = performance.now()
      const endings = await clone.withFault(mutant, () => clone.endings(catchersOf(mutant)))
      const isKilled = endings.every(({ kind }) => kind === 'failed')
      if (!isKilled) survivors.push(mutant.name)
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      process.stdout.write(
        `${isKilled ? 'killed  ' : 'SURVIVED'} ${seconds.padStart(6)} s  ${mutant.name.padEnd(28)} ${mutant.fault}\n`,
      )
      if (!isKilled)
        for (const [index, ending] of endings.entries())
          process.stdout.write(`    ${inWords(ending)}: ${catchersOf(mutant)[index]?.test}\n`)
    }
    process.stdout.write(`${mutants.length - survivors.length} of ${mutants.length} killed\n`)
    return survivors.length === 0
  } finally {
    await clone.remove()
  }
}

/** A test that fails anyway, or does not exist, would prove nothing. */
async function passesWithoutFaults(clone: Clone, mutants: readonly Mutant[]): Promise<boolean> {
  const catchers = [
    ...new Map(mutants.flatMap(catchersOf).map((catcher) => [`${catcher.file} ${catcher.test}`, catcher])).values(),
  ]
  const endings = await clone.endings(catchers)
  const wrong = catchers.flatMap((catcher: Catcher, index) => {
    const ending = endings[index]
    return ending === undefined || ending.kind === 'passed'
      ? []
      : [`${inWords(ending)} without any fault: ${catcher.file}, ${catcher.test}`]
  })
  for (const line of wrong) process.stdout.write(`${line}\n`)
  return wrong.length === 0
}

function inWords(ending: Ending): string {
  if (ending.kind === 'failed') return 'failed'
  return ending.kind === 'broken' ? `could not run (${ending.message.split('\n')[0]})` : ending.kind
}
