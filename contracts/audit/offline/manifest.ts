import { isObject } from './canonical-json.ts'
import { documentRefusal, type SignatureRefusal } from './signed-document.ts'

/** A file beside a manifest. The path is relative, with `/` between its parts. */
export interface ManifestFile {
  readonly path: string
  /** Lower-case hex. */
  readonly sha256: string
  readonly bytes: number
  /** By the log, if it is another one: the bytes are not those that the platform received. */
  readonly received_sha256?: string
}

/** A signed list of files. It may have further members, which the signature covers too. */
export interface Manifest {
  readonly files: readonly ManifestFile[]
  readonly jws: string
}

export interface FileFault {
  readonly path: string
  readonly kind: 'missing' | 'changed'
}

interface CheckedManifest {
  readonly files: readonly ManifestFile[]
  /** What an export lacks, as it says itself. */
  readonly leftOut: readonly unknown[]
}

/** The files that a signed manifest names, or why it is none. The caller reads a file only after that. */
export function checkManifest(
  manifest: unknown,
  keySet: unknown,
): CheckedManifest | { readonly refusal: SignatureRefusal | 'not-a-manifest' } {
  if (!isObject(manifest)) return { refusal: 'not-a-manifest' }
  const { jws, ...signed } = manifest
  const refusal = documentRefusal('manifest', signed, jws, keySet)
  if (refusal !== undefined) return { refusal }
  const { files, left_out: leftOut } = signed
  if (!Array.isArray(files) || !files.every(isManifestFile)) return { refusal: 'not-a-manifest' }
  // Older exports do not say it.
  return { files, leftOut: Array.isArray(leftOut) ? leftOut : [] }
}

/** Compares a file as it is found. Undefined: there is none. */
export function fileFault(
  { path, sha256, bytes }: ManifestFile,
  found: Pick<ManifestFile, 'sha256' | 'bytes'> | undefined,
): FileFault | undefined {
  if (found === undefined) return { path, kind: 'missing' }
  return found.sha256 === sha256 && found.bytes === bytes ? undefined : { path, kind: 'changed' }
}

function isManifestFile(value: unknown): value is ManifestFile {
  if (!isObject(value)) return false
  const { path, sha256, bytes } = value
  return isPathBelow(path) && typeof sha256 === 'string' && typeof bytes === 'number'
}

/** Whether a path stays in the folder of the manifest. */
function isPathBelow(path: unknown): path is string {
  return (
    typeof path === 'string' &&
    !/[\\:\0]/.test(path) &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
  )
}
