import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface SourceFile {
  /** Path from the repository's root, with slashes. */
  readonly path: string
  readonly text: string
}

export interface Violation {
  readonly path: string
  readonly rule: string
  /** The violation: an imported path or package, a call, a name. */
  readonly what: string
}

interface ImportRule {
  /** Files of the rule. The longest matching prefix decides. */
  readonly of: string
  readonly may: readonly (string | RegExp)[]
  readonly not?: readonly (string | RegExp)[]
  /** The only packages that its files may import. Default: `packageRules` decide. */
  readonly packages?: readonly string[]
  /** Files of the folder that may import more. */
  readonly except?: { readonly files: RegExp; readonly may: readonly RegExp[] }
}

const stages = [
  'engine/',
  'streams/',
  'contracts/',
  'commands/',
  'projections/',
  'processes/',
  'read-api/',
  'platform/',
  'embedded/',
]

/** What declares events and reads or appends them. */
const events = ['engine/aggregates/', 'engine/store/']

/** What each folder may import (docs/architecture.md). */
export const importRules: readonly ImportRule[] = [
  // The engine serves every service and knows none.
  { of: 'engine/store/', may: ['engine/store/', 'platform/kit/'] },
  { of: 'engine/aggregates/', may: ['engine/aggregates/', 'engine/store/', 'platform/kit/'] },
  { of: 'engine/commands/', may: ['engine/commands/', ...events, 'platform/'] },
  { of: 'engine/projections/', may: ['engine/projections/', 'engine/rebuild/', 'engine/store/', 'platform/'] },
  { of: 'engine/rebuild/', may: ['engine/rebuild/', 'engine/projections/', 'engine/store/', 'platform/'] },
  {
    of: 'engine/processes/',
    may: ['engine/processes/', 'engine/projections/', 'engine/commands/', ...events, 'platform/'],
  },
  {
    of: 'engine/relay/',
    may: ['engine/relay/', 'engine/commands/execute.ts', ...events, 'platform/'],
  },
  { of: 'engine/reads/', may: ['engine/reads/', 'engine/projections/', 'engine/store/', 'platform/'] },
  { of: 'streams/', may: ['streams/', ...events, 'platform/kit/'] },
  // The aggregates of the engine are in the catalogue too.
  { of: 'streams/catalogue.ts', may: ['streams/', ...events, /^engine\/commands\/.*\/aggregate\.ts$/] },
  { of: 'contracts/', may: ['contracts/', 'streams/', 'engine/reads/', ...events, 'platform/'] },
  {
    of: 'commands/',
    may: ['commands/', 'streams/', 'contracts/', 'engine/commands/', 'engine/reads/records.ts', ...events, 'platform/'],
    // A route names the projectors that serve its reply.
    except: { files: /routes?\.ts$/, may: [/^projections\/.*\.projector\.ts$/] },
  },
  {
    of: 'projections/',
    // The claims of identifiers stand in the reservations alone, as HMACs.
    may: ['projections/', 'streams/', 'engine/projections/', 'engine/commands/reservation/', ...events, 'platform/'],
  },
  {
    of: 'processes/',
    may: ['processes/', 'streams/', 'commands/', 'contracts/', 'engine/', 'platform/'],
    // Its own tables alone, for the health report.
    not: [/^commands\/.*routes?\.ts$/, /^engine\/reads\/(?!tenant-rows\.ts$)/, 'engine/rebuild/'],
  },
  {
    of: 'read-api/',
    may: [
      'read-api/',
      /^projections\/.*\.projector\.ts$/,
      'engine/projections/projector.ts',
      'engine/reads/',
      'contracts/',
      'platform/',
    ],
  },
  { of: 'platform/', may: ['platform/'] },
  { of: 'platform/kit/', may: ['platform/kit/'] },
  // What judges a proof is small and stands alone.
  { of: 'platform/transparency-log/', may: ['platform/transparency-log/'], packages: ['node:crypto'] },
  {
    of: 'contracts/audit/offline/',
    may: ['contracts/audit/offline/', 'platform/transparency-log/'],
    packages: ['node:crypto'],
  },
  { of: 'app/main.ts', may: ['app/', ...stages], not: ['app/demo/'] },
  { of: 'app/', may: ['app/', ...stages], not: ['app/demo/', 'app/main.ts'] },
  { of: 'app/demo/', may: ['app/demo/', 'app/credentials-file.ts'] },
  // They run in browsers.
  { of: 'app/console/pages/', may: ['app/console/pages/'], packages: ['preact', 'preact/hooks', 'htm'] },
  { of: 'embedded/', may: ['embedded/', 'platform/configuration/', 'platform/kit/'] },
  // A package of its own. Others use the entries of its package.json.
  { of: 'packages/embedded-eventstore/', may: ['packages/embedded-eventstore/'] },
  { of: 'packages/client/', may: ['packages/client/'] },
  // Programs of others, who have neither the platform's sources nor its packages.
  { of: 'examples/', may: ['examples/'] },
  {
    of: 'tools/bench/',
    may: ['tools/bench/', 'tools/sample.ts', 'test/support/', 'app/', ...stages],
    // Servers that answer with the bytes of the node, and do nothing else.
    except: { files: /^tools\/bench\/node\//, may: [/^packages\/embedded-eventstore\//] },
  },
  // The generator of the client's types needs the package's own compiler.
  { of: 'tools/client-types/', may: ['tools/client-types/', 'packages/client/generate.ts', 'test/', 'app/'] },
  { of: 'tools/', may: ['tools/', 'test/', 'app/', ...stages] },
  {
    of: 'test/',
    may: ['test/', 'tools/', 'app/', ...stages],
    not: [/^tools\/bench\/(?!harness\/)/],
    // They fill the disk under the node, and look at its files.
    except: { files: /^test\/tools\/faults\//, may: [/^packages\/embedded-eventstore\//] },
  },
]

/**
 * Services that import another service of their stage: `<stage>: <importer> > <imported>`. A service reaches others by their
 * streams, contracts and public events otherwise. No two services import each other, also not through a third one.
 */
export const servicePairs: readonly string[] = [
  // The rules of patients and cases that other records belong to.
  'commands: ai-review > clinical',
  'commands: assessments > clinical',
  'commands: human-review > clinical',
  'commands: images > clinical',
  'commands: notifications > clinical',
  'commands: workflows > clinical',
  // An image of a case is uploaded and checked like one of an assessment.
  'commands: images > assessments',
  // A public event of another service may request a review.
  'commands: foreign-events > ai-review',
  // Recipients are users.
  'commands: notifications > users',
  'read-api: notifications > users',
  // An export is about a patient.
  'commands: audit > clinical',
  // A user reads who saw the own content.
  'read-api: users > audit',
  // The calls to systems outside.
  'processes: ai-review > adapters',
  'processes: notifications > adapters',
  'processes: sealing > adapters',
  // Both erasures end with a key.
  'processes: users > clinical',
  'processes: webhooks > adapters',
  // The erasure of a patient deletes what these store.
  'processes: clinical > ai-review',
  'processes: clinical > audit',
  // The images of an assessment are signed again when its review is superseded.
  'processes: assessments > ai-review',
]

/** The only place outside the embedded node for non-public parts of the client. */
const clientInternals = 'platform/kit/event-store-client.ts'

/** Packages that only some places may import. The longest matching name decides. */
const packageRules: readonly { readonly of: string; readonly by: readonly string[] }[] = [
  {
    of: '@eventstore/db-client',
    by: [
      'engine/store/',
      clientInternals,
      ...['transfer/', 'checks/', 'test/'].map((folder) => `packages/embedded-eventstore/${folder}`),
      'test/',
      'tools/',
      'examples/',
    ],
  },
  {
    of: '@eventstore/db-client/generated/',
    by: ['packages/', clientInternals, 'test/', 'tools/'],
  },
  { of: '@eventstore/db-client/dist/', by: [clientInternals, 'test/'] },
  ...['embedded-eventstore', 'clinical-assessment-client'].map((name) => ({
    of: name,
    by: ['app/', 'embedded/', 'packages/', 'test/', 'tools/'],
  })),
  // It types the names of all labels, which must not be personal.
  { of: 'prom-client', by: ['platform/observability/metrics.ts'] },
  // Only `app/traces.ts` loads the first one, if there is a collector. The others have its types.
  {
    of: '@opentelemetry/',
    by: ['open-telemetry.ts', 'otlp-json.ts', 'span-export.ts'].map((file) => `platform/observability/${file}`),
  },
]

const pureFiles = [
  /^commands\/.*(?<!routes?)\.ts$/,
  /\.(process|projector|channel)\.ts$/,
  /^(streams|engine\/aggregates)\/.*\.ts$/,
  /^engine\/commands\/[^/]+\/.*\.ts$/,
]

/** Time, ids and random values come in with the command. `new Date(value)` only parses data. */
const impurities =
  /\bDate\.now\b|\bnew Date(?:\(\s*\)|(?!\s*\())|(?<!new )(?<![.\w])Date\(\s*\)|\brandomUUID\b|\bMath\.random\b|\brandomBytes\b|\bgetRandomValues\b|\bperformance\.now\b|\bhrtime\b|\bimport\s*\{[^}]*\bv[147]\b[^}]*\}\s*from\s*'uuid'/g

const vagueNames = new Set(['index', 'utils', 'util', 'helpers', 'helper', 'common'])

/** Every TypeScript source of the repository, and the modules that run in browsers. */
export async function readSources(): Promise<SourceFile[]> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const files: SourceFile[] = []
  for (const folder of [...stages, 'app/', 'packages/', 'tools/', 'examples/', 'test/']) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => [])
    for (const found of entries) {
      const isSource =
        found.name.endsWith('.ts') || (found.name.endsWith('.mjs') && /console.pages$/.test(found.parentPath))
      if (!found.isFile() || !isSource || /node_modules|packages.client.dist/.test(found.parentPath)) continue
      const full = join(found.parentPath, found.name)
      const path = full.slice(root.length).replaceAll('\\', '/')
      // The planted violations in the tests of this check are text, not code.
      if (!path.startsWith('test/architecture/')) files.push({ path, text: await readFile(full, 'utf8') })
    }
  }
  return files
}

/** All imports of a file: static, dynamic, of types, and re-exports. Relative ones become paths from the root. */
export function importsOf({ path, text }: SourceFile): string[] {
  const code = withoutComments(text)
  const found = [
    ...code.matchAll(/\b(?:import|export)\b[^'"`;=()]*?\bfrom\s*(['"])(?<specifier>[^'"]+)\1/g),
    ...code.matchAll(/\bimport\s*(['"])(?<specifier>[^'"]+)\1/g),
    ...code.matchAll(/\b(?:import|require)\s*\(\s*(['"`])(?<specifier>[^'"`$]+)\1\s*[,)]/g),
  ]
  return found.map(({ groups }) => {
    const specifier = groups?.['specifier'] ?? ''
    return specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier
  })
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

export function violationsOf(file: SourceFile): Violation[] {
  return [
    ...importViolations(file),
    ...serviceViolations(file),
    ...hiddenMembers(file),
    ...computedImports(file),
    ...impureCalls(file),
    ...vagueName(file),
  ]
}

function importViolations(file: SourceFile): Violation[] {
  const rule = longest(importRules, file.path)
  if (rule === undefined) return [{ path: file.path, rule: 'no stage', what: file.path }]
  return importsOf(file).flatMap((imported) => {
    if (isPackage(imported))
      return rule.packages?.includes(imported) === false
        ? [{ path: file.path, rule: `imports of ${rule.of}`, what: imported }]
        : packageViolations(file.path, imported)
    const exceptions = rule.except?.files.test(file.path) === true ? rule.except.may : []
    const isAllowed = [...rule.may, ...exceptions].some(fits(imported))
    const isExcepted = (rule.not ?? []).some(fits(imported))
    return isAllowed && !isExcepted ? [] : [{ path: file.path, rule: `imports of ${rule.of}`, what: imported }]
  })
}

function serviceViolations(file: SourceFile): Violation[] {
  return importsOf(file).flatMap((imported) => {
    const pair = servicePairOf(file.path, imported)
    return pair === undefined || servicePairs.includes(pair)
      ? []
      : [{ path: file.path, rule: 'imports between services', what: imported }]
  })
}

/** `<stage>: <importer> > <imported>` for two services of one stage. */
export function servicePairOf(path: string, imported: string): string | undefined {
  const [from, to] = [path, imported].map(
    (file) => /^(contracts|commands|projections|processes|read-api)\/([^/]+)\//.exec(file) ?? undefined,
  )
  if (from?.[1] === undefined || from[1] !== to?.[1] || from[2] === to[2]) return undefined
  return `${from[1]}: ${from[2]} > ${to[2]}`
}

function packageViolations(path: string, imported: string): Violation[] {
  const rule = longest(packageRules, imported)
  if (rule === undefined || rule.by.some((folder) => path.startsWith(folder))) return []
  return [{ path, rule: `importers of ${rule.of}`, what: imported }]
}

/** Uses of the client's non-public members by name. */
function hiddenMembers({ path, text }: SourceFile): Violation[] {
  if (path === clientInternals || path.startsWith('test/') || path.startsWith('packages/')) return []
  const members = withoutComments(text).matchAll(
    /\['(?:callArguments|GRPCStreamCreator|execute|getChannel|createGRPCClient)'\]/g,
  )
  return [...members].map(([what]) => ({ path, rule: `importers of ${clientInternals}`, what }))
}

/** A computed import cannot be checked. Only tests write code that computes imports. */
function computedImports({ path, text }: SourceFile): Violation[] {
  if (/^(test|tools|packages\/[^/]+\/test)\//.test(path)) return []
  return [...withoutComments(text).matchAll(/\b(?:import|require)\s*\((?!\s*(['"`])[^'"`$]+\1\s*[,)])[^)]*\)?/g)].map(
    ([what]) => ({ path, rule: 'computed imports', what }),
  )
}

function isPackage(imported: string): boolean {
  return (
    /^(node:|@?[a-z][a-z0-9./_-]*$|@[a-z0-9-]+\/)/.test(imported) &&
    !importRules.some(({ of }) => imported.startsWith(of))
  )
}

function impureCalls({ path, text }: SourceFile): Violation[] {
  if (path.startsWith('test/') || path.startsWith('tools/') || !pureFiles.some((pattern) => pattern.test(path)))
    return []
  return [...withoutComments(text).matchAll(impurities)].map(([what]) => ({ path, rule: 'pure files', what }))
}

function vagueName({ path }: SourceFile): Violation[] {
  // The embedded node has an `index` of its log, so this name is allowed there.
  if (path.startsWith('packages/embedded-eventstore/index/')) return []
  const vague = path
    .replace(/\.ts$/, '')
    .split('/')
    .filter((part) => vagueNames.has(part))
  return vague.map((what) => ({ path, rule: 'names', what }))
}

/**
 * The files in import circles and between them; none without a circle. Files without remaining imports, or without
 * remaining importers, are removed repeatedly. A circle always remains.
 */
export function circlesOf(sources: readonly SourceFile[]): string[] {
  let left = new Map(sources.map((file) => [file.path, importsOf(file)]))
  for (let before = left.size + 1; left.size < before;) {
    before = left.size
    const imported = new Set([...left.values()].flat())
    left = new Map(
      [...left].filter(([path, targets]) => imported.has(path) && targets.some((target) => left.has(target))),
    )
  }
  return [...left.keys()].toSorted()
}

function fits(imported: string) {
  return (pattern: string | RegExp): boolean =>
    typeof pattern !== 'string'
      ? pattern.test(imported)
      : pattern.endsWith('/')
        ? imported.startsWith(pattern)
        : imported === pattern
}

function longest<Rule extends { readonly of: string }>(rules: readonly Rule[], path: string): Rule | undefined {
  return rules.filter(({ of }) => path.startsWith(of)).toSorted((a, b) => b.of.length - a.of.length)[0]
}
