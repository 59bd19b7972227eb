import { errorCode } from './error-codes.ts'

const codes =
  /^(?:ERR_TLS_CERT_ALTNAME_INVALID|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET|VERIFY|DECRYPT|DECODE)_|HOSTNAME_MISMATCH)/
/** grpc-js keeps the message of the error only. */
const texts: readonly (readonly [RegExp, string])[] = [
  [/self-signed certificate/, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  [/unable to verify the first certificate/, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  [/unable to get (?:local )?issuer certificate/, 'UNABLE_TO_GET_ISSUER_CERT'],
  [/certificate has expired/, 'CERT_HAS_EXPIRED'],
  [/does not match certificate's altnames/, 'ERR_TLS_CERT_ALTNAME_INVALID'],
]

/** The code of the reason why a certificate was refused. Undefined if an error has another cause. */
function codeOfRefusal(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const code = errorCode(error)
  if (code !== undefined && codes.test(code)) return code
  const inner: readonly unknown[] = error instanceof AggregateError ? error.errors : []
  return (
    texts.find(([text]) => text.test(error.message))?.[1] ??
    [...inner, error.cause].map(codeOfRefusal).find((one) => one !== undefined)
  )
}

/**
 * What an operator must set if the certificate of the server of a variable was refused. Undefined for other errors.
 * @param authority where the authority of the certificate is set
 */
export function certificateProblem(
  variable: string,
  error: unknown,
  authority = 'NODE_EXTRA_CA_CERTS',
): string | undefined {
  const code = codeOfRefusal(error)
  if (code === undefined) return undefined
  const subject = `the certificate of the server of ${variable}`
  if (/ALTNAME|HOSTNAME/.test(code))
    return `${subject} is for another name (${code}): set ${variable} to a name of the certificate`
  if (/EXPIRED|NOT_YET_VALID/.test(code)) return `${subject} is not valid now (${code}): renew it, or set the clock`
  return `${subject} is not trusted (${code}): set ${authority} to the file of its authority`
}
