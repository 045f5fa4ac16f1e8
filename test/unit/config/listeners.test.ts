import { once } from 'node:events'
import { type AddressInfo, createServer, type ListenOptions } from 'node:net'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import {
  checkListeners,
  grpcListener,
  ListenError,
  type Listener,
  listenAs,
  listener,
  nodeListeners,
  p2pListener,
  signerListener,
  tryListener,
} from '../../../src/config/listeners.ts'

/** A port that is taken while `use` runs. */
async function withTaken<T>(place: ListenOptions, use: (port: number) => Promise<T>): Promise<T> {
  const server = createServer().listen(place)
  await once(server, 'listening')
  try {
    return await use((server.address() as AddressInfo).port)
  } finally {
    server.close()
  }
}

/** The line for a place that the system refuses with this code. */
const lineOf = (place: Listener, code: string) =>
  checkListeners([place], { open: () => Promise.reject(Object.assign(new Error(code), { code })) }).then(
    () => undefined,
    (error: Error) => error.message,
  )

describe('a place to listen', () => {
  it('has the variables that choose it', () => {
    const variables = {
      RPC_PORT: '1',
      P2P_PORT: '2',
      METRICS_PORT: '3',
      PRIVATE_RPC_PORT: '4',
      GRPC_PORT: '5',
      PRIV_VALIDATOR_LADDR: 'tcp://127.0.0.1:6',
    }
    const config = loadConfig({ flags: {}, environment: variables, dotenv: {} }, '/home/operator')
    expect(nodeListeners(config).map(({ variable, hostVariable }) => [variable, hostVariable])).toEqual([
      ['RPC_PORT', 'RPC_HOST'],
      ['P2P_PORT', 'P2P_HOST'],
      ['METRICS_PORT', 'METRICS_HOST'],
      ['PRIVATE_RPC_PORT', 'PRIVATE_RPC_HOST'],
      ['GRPC_PORT', 'RPC_HOST'],
      ['PRIV_VALIDATOR_LADDR', 'PRIV_VALIDATOR_LADDR'],
    ])
    const without = loadConfig({ flags: {}, environment: { METRICS_PORT: '0' }, dotenv: {} }, '/home/operator')
    expect(nodeListeners(without).map(({ variable }) => variable)).toEqual(['RPC_PORT', 'P2P_PORT'])
  })

  it.each([
    [listener('RPC', '0.0.0.0', 8080), 'EADDRINUSE', /^RPC_PORT is 8080: another program listens on 0\.0\.0\.0:8080;/],
    [p2pListener({ host: '::', port: 80 }), 'EACCES', /^P2P_PORT is 80: this user may not listen on \[::\]:80;/],
    [grpcListener('192.0.2.1', 90), 'EADDRNOTAVAIL', /^RPC_HOST is 192\.0\.2\.1: .*does not have.* 192\.0\.2\.1:90;/],
    [listener('METRICS', '::', 9464), 'EAFNOSUPPORT', /^METRICS_HOST is ::: this machine has no IPv6.*\[::\]:9464;/],
    [listener('PRIVATE_RPC', 'node.invalid', 1), 'ENOTFOUND', /^PRIVATE_RPC_HOST is node\.invalid: .*resolved.*:1;/],
    [listener('EXPLORER', '127.0.0.1', 8090), 'EMFILE', /^EXPLORER_PORT is 8090: .*127\.0\.0\.1:8090 \(EMFILE\)$/],
    [
      signerListener({ kind: 'tcp', host: '127.0.0.1', port: 26658 }),
      'EADDRINUSE',
      /^PRIV_VALIDATOR_LADDR is tcp:\/\/127\.0\.0\.1:26658: another program listens on/,
    ],
  ])('that cannot be had is one line: %o, %s', async (place, code, line) => {
    expect(await lineOf(place, code)).toMatch(line)
    expect(await lineOf(place, code)).not.toContain('\n')
  })

  it.each([
    ['127.0.0.1', { host: '127.0.0.1' }],
    ['0.0.0.0', { host: '127.0.0.1' }],
    ['127.0.0.1', { host: '0.0.0.0' }],
    // Which two nodes would share: each would get some of the other's clients.
    ['127.0.0.1', { host: '127.0.0.1', reusePort: true }],
    ['::1', { host: '::1' }],
    ['::', { host: '::', ipv6Only: true }],
  ])('is in use at %s beside %o', async (host, taken) => {
    await withTaken({ ...taken, port: 0 }, async (port) => {
      const places = [listener('RPC', host, port), p2pListener({ host, port })]
      for (const place of places) expect(await tryListener(place)).toBe('EADDRINUSE')
      await expect(checkListeners([listener('EXPLORER', host, 0), places[1]!])).rejects.toThrow(/^P2P_PORT is \d+: /)
    })
  })

  it('of IPv6 alone does not need the port of IPv4', async () => {
    await withTaken({ host: '0.0.0.0', port: 0 }, async (port) => {
      expect(await tryListener(p2pListener({ host: '::', port }))).toBeUndefined()
      expect(await tryListener(listener('RPC', '::', port))).toBe('EADDRINUSE')
    })
  })

  it('is free again after the check', async () => {
    const port = await withTaken({ host: '127.0.0.1', port: 0 }, async (taken) => taken)
    await checkListeners([listener('RPC', '127.0.0.1', port)])
    await checkListeners([listener('RPC', '127.0.0.1', port)])
  })

  it('whose name is not resolved is waited for with a deadline', async () => {
    const open = () => new Promise<never>(() => undefined)
    const checking = checkListeners([p2pListener({ host: 'slow.example', port: 1 })], { open, timeoutMs: 1 })
    await expect(checking).rejects.toThrow(/^P2P_HOST is slow\.example: the name cannot be resolved/)
  })
})

describe('opening a listener', () => {
  it('names its variable where the system refuses it, and passes other errors on', async () => {
    await withTaken({ host: '127.0.0.1', port: 0 }, async (port) => {
      const place = listener('METRICS', '127.0.0.1', port)
      const open = () => once(createServer().listen(port, '127.0.0.1'), 'listening')
      const error = await listenAs(place, open).catch((refused: unknown) => refused)
      expect(error).toBeInstanceOf(ListenError)
      expect((error as ListenError).message).toMatch(/^METRICS_PORT is \d+: /)
    })
    const other = Object.assign(new Error('read'), { code: 'EISDIR', syscall: 'read' })
    const place = signerListener({ kind: 'unix', path: '/run/signer' })
    await expect(listenAs(place, () => Promise.reject(other))).rejects.toBe(other)
    const missing = Object.assign(new Error('listen'), { code: 'ENOENT', syscall: 'listen' })
    await expect(listenAs(place, () => Promise.reject(missing))).rejects.toThrow(
      'PRIV_VALIDATOR_LADDR is unix:///run/signer: its directory does not exist',
    )
  })
})
