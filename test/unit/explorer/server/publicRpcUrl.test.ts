import fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { createPublicRpcUrl } from '../../../../explorer/node/publicRpcUrl.ts'
import { addPages } from '../../../../explorer/server/pages.ts'

/** A node that announces what the test sets, or does not answer, and a clock that the test moves. */
function start(announced: string | undefined) {
  const state = { announced, now: 0, asked: 0 }
  const comet = async () => {
    state.asked++
    if (state.announced === undefined) throw new Error('away')
    return [{ node_info: { other: { rpc_address: state.announced } } }]
  }
  const url = createPublicRpcUrl(undefined, { comet }, () => state.now)
  /** after the answer to what it asks */
  const known = async (): Promise<string | undefined> => {
    url()
    await new Promise((resolve) => setImmediate(resolve))
    return url()
  }
  return { state, url, known }
}

describe('the RPC address for wallets', () => {
  it('is the only one beside their own that pages may ask', async () => {
    const allowed = async (rpcUrl: string | undefined): Promise<string> => {
      const app = fastify()
      await addPages(app, ['/api'], () => rpcUrl)
      const { headers } = await app.inject('/')
      await app.close()
      return /connect-src ([^;]*);/.exec(`${headers['content-security-policy']}`)![1]!
    }
    expect(await allowed(undefined)).toBe("'self'")
    expect(await allowed('https://rpc.example.org:8080/coin/')).toBe("'self' https://rpc.example.org:8080")
  })

  it('is what the operator of the explorer has set', () => {
    const comet = () => expect.unreachable('the node is not asked')
    expect(createPublicRpcUrl('https://rpc.example.org/', { comet })()).toBe('https://rpc.example.org/')
  })

  it('is what the node announces, asked for once a minute, and kept while it is away', async () => {
    const { state, url, known } = start('https://rpc.example.org')
    expect(url()).toBeUndefined()
    expect(await known()).toBe('https://rpc.example.org/')
    state.announced = undefined
    state.now = 59_999
    expect(await known()).toBe('https://rpc.example.org/')
    expect(state.asked).toBe(1)
    state.now = 60_000
    expect(await known()).toBe('https://rpc.example.org/')
    expect(state.asked).toBe(2)
    state.announced = 'http://another.example.org/coin'
    state.now = 120_000
    expect(await known()).toBe('http://another.example.org/coin')
  })

  it.each(['', 'tcp://0.0.0.0:26657', 'javascript:alert(1)', 'nonsense', '/'])(
    'is none where the node says %j',
    async (text) => {
      expect(await start(text).known()).toBeUndefined()
    },
  )
})
