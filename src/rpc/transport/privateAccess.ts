import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { ConfigError } from '../../config/configError.ts'
import type { HttpRefusal } from './httpMessages.ts'

/**
 * Decides for each request and WebSocket of a listener, from its headers alone, whether it is
 * accepted.
 */
export interface Access {
  /** Returns the reason why a request with these headers is refused; undefined when it is not. */
  check(headers: IncomingHttpHeaders): Promise<HttpRefusal | undefined>
}

interface PrivateAccessOptions {
  /** in lower case; IP addresses are always allowed */
  readonly hostNames: readonly string[]
  /** 32 bytes; undefined: requests need no token */
  readonly jwtSecret: Uint8Array | undefined
  /** milliseconds since the epoch */
  readonly nowMs: () => number
}

/**
 * Seconds by which a token's time may differ from the node's clock (Engine API, authentication).
 */
const TOKEN_SECONDS = 60
const SECRET_BYTES = 32

/**
 * Creates the rules of the operator's listener. A web page that an operator opens may send requests
 * to the operator's machine. They have an Origin header, or, when the page's name resolves to that
 * machine (DNS rebinding), that name as their host. Both are refused. Tokens are those of the
 * Engine API (execution-apis, src/engine/authentication.md): HS256, with `iat` within 60 seconds.
 */
export function createPrivateAccess({ hostNames, jwtSecret, nowMs }: PrivateAccessOptions): Access {
  return {
    check: async ({ origin, host, authorization }) => {
      if (origin !== undefined) return forbidden('requests of web pages are not accepted on this port')
      if (host === undefined || !isAllowedHost(hostNames, host)) {
        return forbidden('invalid host specified: PRIVATE_RPC_VHOSTS has the names by which this port may be called')
      }
      const problem = jwtSecret === undefined ? undefined : await tokenProblem(authorization, jwtSecret, nowMs())
      return problem === undefined ? undefined : { status: 401, text: problem }
    },
  }
}

/**
 * Reads a secret: 64 hex digits, with or without `0x`.
 * @throws ConfigError when the file cannot be read or holds anything else
 */
export function readJwtSecret(path: string): Uint8Array {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`RPC_JWT_SECRET_FILE is ${path}, which cannot be read: ${(error as Error).message}`)
  }
  const digits = text.trim().replace(/^0x/i, '')
  if (/^[0-9a-f]{64}$/i.test(digits)) return Buffer.from(digits, 'hex')
  throw new ConfigError(
    `RPC_JWT_SECRET_FILE is ${path}, which does not hold ${SECRET_BYTES} bytes as hex digits: create a secret with openssl rand -hex ${SECRET_BYTES}`,
  )
}

/**
 * Characters that a host cannot have, although they would be parsed as other parts of a URL: a name
 * before `@`, a path.
 */
const NO_HOST = /[@/\\?#]/

/** Whether the host is allowed (geth: node/rpcstack.go, virtualHostHandler). */
function isAllowedHost(hostNames: readonly string[], host: string): boolean {
  if (NO_HOST.test(host) || !URL.canParse(`http://${host}`)) return false
  const { hostname } = new URL(`http://${host}`)
  return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 || hostNames.includes(hostname)
}

async function tokenProblem(
  authorization: string | undefined,
  secret: Uint8Array,
  nowMs: number,
): Promise<string | undefined> {
  const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1]
  if (token === undefined) return 'missing token'
  // Loaded on demand: few nodes have such a listener.
  const { compactVerify } = await import('jose')
  let claims: unknown
  try {
    const { payload } = await compactVerify(token, secret, { algorithms: ['HS256'] })
    claims = JSON.parse(Buffer.from(payload).toString('utf8'))
  } catch (error) {
    return `invalid token: ${(error as Error).message}`
  }
  // Not by jose's rules for claims: cast sends `"exp": null`, which geth accepts too.
  const { iat, exp } = (claims ?? {}) as { readonly iat?: unknown; readonly exp?: unknown }
  const nowSeconds = nowMs / 1_000
  if (typeof iat !== 'number') return 'missing issued-at'
  if (Math.abs(nowSeconds - iat) > TOKEN_SECONDS) return 'stale token: its iat differs from the clock'
  return typeof exp === 'number' && exp < nowSeconds ? 'token is expired' : undefined
}

function forbidden(text: string): HttpRefusal {
  return { status: 403, text }
}
