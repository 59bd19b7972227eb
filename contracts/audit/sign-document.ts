import canonicalize from 'canonicalize'
import { CompactSign } from 'jose'
import type { SigningKey } from '../../platform/vault/signing-keys.ts'
import type { Manifest, ManifestFile } from './offline/manifest.ts'
import { documentTypes, type DocumentKind } from './offline/signed-document.ts'

/** The newest key signs. All keys of the purpose are published for ever (`/v1/auth/.well-known/jwks.json`). */
export interface DocumentKeys {
  signingKey(purpose: 'provenance'): Promise<Pick<SigningKey, 'kid' | 'privateKey'>>
}

/** A compact JWS of the RFC 8785 form of a document. `offline/signed-document.ts` judges it without the platform. */
export async function signDocument(keys: DocumentKeys, kind: DocumentKind, document: object): Promise<string> {
  const { kid, privateKey } = await keys.signingKey('provenance')
  return new CompactSign(new TextEncoder().encode(canonicalize(document)))
    .setProtectedHeader({ alg: 'EdDSA', typ: documentTypes[kind], kid })
    .sign(privateKey)
}

/** A manifest with its signature, as `manifest.json` contains it. */
export async function signManifest<Content extends { readonly files: readonly ManifestFile[] }>(
  keys: DocumentKeys,
  content: Content,
): Promise<Content & Manifest> {
  return { ...content, jws: await signDocument(keys, 'manifest', content) }
}
