import { afterEach, describe, expect, it } from 'vitest'
import { encodeLightBlock } from '../../../../src/chain/comet/lightBlock.ts'
import type { LightClientProblem } from '../../../../src/sync/light/lightBlockSource.ts'
import { PeerSource, type ReadPeerLightBlock } from '../../../../src/sync/light/peerSource.ts'
import { closeNodes, connectedPair } from '../../../support/p2p/testNode.ts'
import { clientOf, lightChain } from '../../../support/sync/light/lightChain.ts'
import { keyOf, servedChain } from '../../../support/sync/servedChain.ts'

afterEach(closeNodes)

const { signal } = new AbortController()

/** One of four validators is replaced at each eighth height. */
const CHAIN = lightChain(
  servedChain({
    blocks: 60,
    updatesAt: (height) =>
      height % 8 === 0
        ? [
            { publicKey: keyOf(height / 8 - 1), power: 0n },
            { publicKey: keyOf(height / 8 + 3), power: 1n },
          ]
        : [],
  }),
)

/** What an honest peer answers that has only these heights. */
function reader(kept: readonly number[]): ReadPeerLightBlock & { readonly asked: number[] } {
  const asked: number[] = []
  const read = async (height: number): Promise<Uint8Array | undefined> => {
    asked.push(height)
    const found = kept.find((other) => other >= height)
    return found === undefined ? undefined : encodeLightBlock(CHAIN.blocks[found - 1]!)
  }
  return Object.assign(read, { asked })
}

const clientTo = (read: ReadPeerLightBlock) => clientOf(CHAIN, { sources: [new PeerSource('12D3', read)] })

describe('light blocks of a peer', () => {
  it('verify, whatever it has dropped that is not needed', async () => {
    const all = CHAIN.blocks.map(({ header }) => header.height)
    for (const kept of [all, all.filter((height) => height % 8 === 0 || height > 50), [8, 9, 16, 30, 40, 46, 59, 60]]) {
      const read = reader(kept)
      expect(await clientTo(read).verify(60, signal)).toEqual(CHAIN.blocks[59])
      expect(read.asked.length).toBeLessThan(60)
    }
    expect(await clientTo(reader(all)).verify(7, signal)).toEqual(CHAIN.blocks[6])
  })

  it('are found below the middle, where there is none above it', async () => {
    const source = new PeerSource('12D3', reader([10, 11, 60]))
    const nearest = (height: number, from: number, to: number) => source.nearest(height, { from, to }, signal)
    expect(await nearest(30, 0, 60)).toBe(10)
    expect(await nearest(30, 10, 60)).toBe(11)
    expect(await nearest(30, 11, 60)).toBeUndefined()
    expect(await nearest(11, 9, 60)).toBe(11)
    expect(await nearest(5, 3, 10)).toBeUndefined()
  })

  it('come over the network', async () => {
    const lightBlocks = (height: number) => CHAIN.blocks[height - 1] && encodeLightBlock(CHAIN.blocks[height - 1]!)
    const [server, client] = await connectedPair({ lightBlocks })
    const source = new PeerSource(server.network.id, (height) =>
      client.network.fetchLightBlock(server.network.id, height),
    )
    const light = clientOf(CHAIN, { sources: [source] })
    expect(await light.verify(60, signal)).toEqual(CHAIN.blocks[59])
    await expect(light.verify(61, signal)).rejects.toMatchObject({ kind: 'missing' })
    await server.close()
    await expect(light.verify(59, signal)).rejects.toMatchObject({ kind: 'unavailable' })
  })
})

it.each<[string, ReadPeerLightBlock, LightClientProblem, RegExp]>([
  [
    'no light block',
    async () => new Uint8Array(5).fill(8),
    'invalid',
    /^peer 12D3 returned an invalid light block of height 60: /,
  ],
  ['one of a lower height', async () => encodeLightBlock(CHAIN.blocks[20]!), 'invalid', /of height 21 instead of 60$/],
  ['nothing', async () => undefined, 'missing', /^peer 12D3 does not have the header of height 60$/],
  [
    'no answer',
    async () => {
      throw new Error('it is gone')
    },
    'unavailable',
    /^peer 12D3 did not return a light block: it is gone$/,
  ],
])('a peer gives %s', async (_, read, kind, problem) => {
  await expect(clientTo(read).verify(60, signal)).rejects.toMatchObject({
    kind,
    message: expect.stringMatching(problem),
  })
})
