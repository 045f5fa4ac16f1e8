import type { LookupAddress } from 'node:dns'
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { unescape as percentDecode } from 'node:querystring'
import { type Addresses, hostOf, onlyAllowed, REAL_ADDRESSES, RefusedRequest } from '../primitives/publicAddresses.ts'

const MAX_REDIRECTS = 5
const REDIRECTS: readonly (number | undefined)[] = [301, 302, 303, 307, 308]
/** Connections without a request are closed after it. */
const IDLE_MS = 15_000

/**
 * GET requests to the address that the operator has set, and to others that servers name. The
 * latter are not trusted: they may not lead to this machine or into its network, where services
 * trust every client that reaches them. So every address that is connected to has to be public, by
 * the answer of the very look-up that the connection uses: a name may resolve to something else the
 * next time. Only where the operator's own host is in such a network itself, all addresses are
 * allowed; that is decided once, at the first request.
 */
export class GuardedHttp {
  readonly #own: URL
  readonly #authorization: string | undefined
  readonly #addresses: Addresses
  readonly #agents = {
    plain: new PlainAgent({ keepAlive: true, timeout: IDLE_MS }),
    tls: new TlsAgent({ keepAlive: true, timeout: IDLE_MS }),
  }
  #allowsAll: boolean | undefined

  /** @param own of the operator. Its user and password are sent to its origin, and nowhere else. */
  constructor(own: URL, addresses: Addresses = REAL_ADDRESSES) {
    this.#own = own
    this.#addresses = addresses
    if (own.username === '' && own.password === '') return
    const credentials = `${percentDecode(own.username)}:${percentDecode(own.password)}`
    this.#authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  }

  /**
   * Returns the answer after redirects, whose body the caller reads or destroys.
   * @throws RefusedRequest; errors of the connection; the signal's reason, as it is or as an AbortError
   */
  async get(address: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<IncomingMessage> {
    this.#allowsAll ??= await this.#isOwnHostInside()
    let url = address
    for (let redirects = 0; ; redirects++) {
      const response = await this.#request(url, headers, signal)
      const { location } = response.headers
      if (!REDIRECTS.includes(response.statusCode) || location === undefined) return response
      response.destroy()
      if (redirects === MAX_REDIRECTS) throw new RefusedRequest(`redirects more than ${MAX_REDIRECTS} times`)
      if (!URL.canParse(location, url.href)) throw new RefusedRequest('redirects to an invalid URL')
      url = new URL(location, url)
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw new RefusedRequest(`redirects to ${url.protocol.slice(0, 40)}, which is neither http nor https`)
      }
    }
  }

  /** @throws errors of the look-up */
  async #isOwnHostInside(): Promise<boolean> {
    const host = hostOf(this.#own)
    const addresses = isIP(host) === 0 ? await this.#addresses.resolve(host) : [{ address: host }]
    return addresses.some(({ address }) => !this.#addresses.isPublic(address))
  }

  #request(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<IncomingMessage> {
    // A connection to a literal address looks nothing up.
    const host = hostOf(url)
    if (isIP(host) !== 0) this.#check(host, [{ address: host, family: isIP(host) }])
    const target = new URL(url)
    target.username = ''
    target.password = ''
    const isTls = url.protocol === 'https:'
    const isOwn = url.origin === this.#own.origin && this.#authorization !== undefined
    return new Promise((resolve, reject) => {
      const request = (isTls ? tlsRequest : plainRequest)(target, {
        agent: isTls ? this.#agents.tls : this.#agents.plain,
        headers: isOwn ? { ...headers, authorization: this.#authorization } : headers,
        lookup: this.#lookup,
        signal,
      })
      request.on('response', resolve)
      // Stays: an error after the answer has begun is passed to its reader, too.
      request.on('error', reject)
      request.end()
    })
  }

  readonly #lookup: LookupFunction = (host, options, callback) => {
    const looking = this.#addresses.resolve(host).then((addresses) => this.#check(host, addresses))
    looking.then(
      (addresses) => {
        if (options.all) callback(null, [...addresses])
        else callback(null, addresses[0]!.address, addresses[0]!.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }

  #check(host: string, addresses: readonly LookupAddress[]): readonly LookupAddress[] {
    return onlyAllowed(host, addresses, (address) => this.#allowsAll === true || this.#addresses.isPublic(address))
  }
}
