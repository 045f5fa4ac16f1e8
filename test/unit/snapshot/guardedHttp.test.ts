import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { GuardedHttp } from '../../../src/snapshot/guardedHttp.ts'
import { httpServer } from '../../support/sync/httpServers.ts'

const { signal } = new AbortController()

/** 127.0.0.1 plays a public address, others that begin so are of the own network. Names have these addresses, in turn. */
function guard(own: string, names: Record<string, string[]> = {}) {
  return new GuardedHttp(new URL(own), {
    isPublic: (address) => address === '127.0.0.1',
    resolve: async (host) => {
      const addresses = names[host] ?? []
      const address = addresses.length > 1 ? addresses.shift()! : addresses[0]
      return address === undefined ? [] : [{ address, family: 4 }]
    },
  })
}

async function get(http: GuardedHttp, url: string): Promise<string> {
  const response = await http.get(new URL(url), {}, signal)
  let text = ''
  for await (const part of response) text += String(part)
  return text
}

/** Redirects /to?… to what follows, and shows the authorization that came. */
async function redirecting() {
  const requests: IncomingMessage[] = []
  const url = await httpServer((request, response) => {
    requests.push(request)
    const [path, target] = request.url!.split('?')
    if (path === '/to') response.writeHead(302, { location: decodeURIComponent(target!) }).end()
    else response.end(`${path} ${request.headers.authorization ?? 'nobody'}`)
  })
  return { url, port: new URL(url).port, requests }
}

const to = (url: string) => `/to?${encodeURIComponent(url)}`

describe('requests to servers that nobody trusts', () => {
  test('follow up to five redirects', async () => {
    const { url } = await redirecting()
    let path = '/end'
    for (let i = 0; i < 5; i++) path = to(path)
    expect(await get(guard(url), `${url}${path}`)).toBe('/end nobody')
    await expect(get(guard(url), `${url}${to(path)}`)).rejects.toThrow('redirects more than 5 times')
  })

  test('do not follow a redirect in a circle', async () => {
    const url = await httpServer((_request, response) => response.writeHead(307, { location: '/' }).end())
    await expect(get(guard(url), url)).rejects.toThrow('redirects more than 5 times')
  })

  test.each([
    ['file:///etc/passwd', 'redirects to file:, which is neither http nor https'],
    ['ftp://host.example/', 'redirects to ftp:, which is neither http nor https'],
    ['http://', 'redirects to an invalid URL'],
    ['http://127.0.0.2/', 'leads to 127.0.0.2, an address that is not public'],
    ['http://2130706434/', 'leads to 127.0.0.2, an address that is not public'],
    ['http://[::1]/', 'leads to ::1, an address that is not public'],
    ['http://[::ffff:127.0.0.2]/', 'leads to ::ffff:7f00:2, an address that is not public'],
    ['http://inside.example/', 'leads to inside.example (127.0.0.3), an address that is not public'],
    ['http://unknown.example/', 'leads to unknown.example, which has no address'],
  ])('do not follow a redirect to %s', async (target, message) => {
    const { url } = await redirecting()
    const http = guard(url, { 'inside.example': ['127.0.0.3'] })
    await expect(get(http, `${url}${to(target)}`)).rejects.toThrow(message)
  })

  test('do not go to an address that is not public, a mirror in a manifest for example', async () => {
    const { url, port, requests } = await redirecting()
    await expect(get(guard(url), `http://127.0.0.2:${port}/`)).rejects.toThrow('leads to 127.0.0.2')
    expect(requests).toEqual([])
  })

  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '169.254.169.254', '[fd00::1]', '0.0.0.0'])(
    'go with the real look-up and ranges not to %s',
    async (host) => {
      const { port, requests } = await redirecting()
      // A literal address, to which no connection is made.
      const http = new GuardedHttp(new URL('http://8.8.8.8/'))
      await expect(get(http, `http://${host}:${port}/`)).rejects.toThrow(/^leads to .*, an address that is not public$/)
      expect(requests).toEqual([])
    },
  )

  test('go to every address where the operator has set one that is not public', async () => {
    const { url, port } = await redirecting()
    for (const own of ['http://127.0.0.2/', 'http://own.example/']) {
      const http = guard(own, { 'own.example': ['127.0.0.2'], 'other.example': ['127.0.0.1'] })
      expect(await get(http, `${url}${to(`http://other.example:${port}/end`)}`)).toBe('/end nobody')
    }
  })

  test('check the address that is connected to, whatever the name resolved to before', async () => {
    const { url, port, requests } = await redirecting()
    const names = { 'own.example': ['127.0.0.1', '127.0.0.1', '127.0.0.2'] }
    const http = guard('http://own.example/', names)
    expect(await get(http, `http://own.example:${port}/a`)).toBe('/a nobody')
    // Another port, so that the connection that there is cannot be used again.
    const other = await redirecting()
    await expect(get(http, `http://own.example:${other.port}/b`)).rejects.toThrow('leads to own.example (127.0.0.2)')
    expect([requests.length, other.requests.length]).toEqual([1, 0])
    expect(url).not.toBe(other.url)
  })

  test('have the user and password of the own address there, and nowhere else', async () => {
    const { url, port } = await redirecting()
    const own = url.replace('http://', 'http://us%40er:pa%3Ass@')
    const authorization = `Basic ${Buffer.from('us@er:pa:ss').toString('base64')}`
    const http = guard(own, { 'other.example': ['127.0.0.1'] })
    expect(await get(http, `${own}/a`)).toBe(`/a ${authorization}`)
    expect(await get(http, `${url}${to('/b')}`)).toBe(`/b ${authorization}`)
    expect(await get(http, `${url}${to(`http://other.example:${port}/c`)}`)).toBe('/c nobody')
    expect(await get(http, `http://name:word@other.example:${port}/d`)).toBe('/d nobody')
  })

  test('end with their signal', async () => {
    const stop = new AbortController()
    const url = await httpServer(() => stop.abort())
    await expect(guard(url).get(new URL(url), {}, stop.signal)).rejects.toThrow('aborted')
  })
})
