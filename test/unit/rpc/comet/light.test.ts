import { describe, expect, it } from 'vitest'
import { type LightBlock, verifyAdjacent, verifyBlock, verifySkipping } from '../../../independent/lightVerifier.ts'
import { COMETBFT } from '../../../support/rpc/comet/cometbftVectors.ts'
import { createCometTest } from '../../../support/rpc/comet/cometNode.ts'
import { createSignedChain, testKey } from '../../../support/rpc/comet/signedChain.ts'

describe('the verifier', () => {
  it("accepts CometBFT's own commits", () => {
    verifyBlock(COMETBFT.light[0]!)
    COMETBFT.light.slice(1).forEach((next, index) => {
      verifyAdjacent(COMETBFT.light[index]!, next)
    })
    verifySkipping(COMETBFT.light[0]!, COMETBFT.light[3]!)
  })

  it.each([
    ['/"app_hash":"00/', '"app_hash":"01', /another header/],
    ['/"timestamp":"2/', '"timestamp":"3', /signature 0 is wrong/],
    ['/"voting_power":"1"/', '"voting_power":"9"', /not the validators/],
  ])('refuses a change of %s', (pattern, replacement, problem) => {
    const text = JSON.stringify(COMETBFT.light[1])
    const changed = text.replace(new RegExp(pattern.slice(1, -1)), replacement)
    expect(changed).not.toBe(text)
    expect(() => verifyBlock(JSON.parse(changed))).toThrow(problem)
  })
})

describe("the node's commits", () => {
  const chain = createSignedChain([
    {},
    { absent: [3], txs: [Uint8Array.of(1)] },
    { updates: [{ publicKey: testKey(4).publicKey, power: 35n }], nil: [2] },
    { updates: [{ publicKey: testKey(3).publicKey, power: 0n }] },
    { round: 2 },
    { absent: [4] },
    {},
    {},
  ])
  const { get } = createCometTest(chain)
  const lightBlock = async (height: number): Promise<LightBlock> => ({
    commit: await get(`commit?height=${height}`),
    validators: await get(`validators?height=${height}`),
  })

  it('verify one after the other while validators change', async () => {
    const blocks: LightBlock[] = []
    for (let height = 1; height <= chain.headHeight; height++) blocks.push(await lightBlock(height))
    verifyBlock(blocks[0]!)
    blocks.slice(1).forEach((next, index) => {
      verifyAdjacent(blocks[index]!, next)
    })
    verifySkipping(blocks[0]!, blocks[7]!)
    expect(blocks.map(({ validators }) => validators.total)).toEqual(['4', '4', '4', '4', '5', '4', '4', '4'])
    expect(blocks.map(({ commit }) => commit.canonical)).toEqual([...Array(7).fill(true), false])
  })

  it('fails with one third unsigned', async () => {
    const stopped = createCometTest(createSignedChain([{ absent: [0] }]))
    const commit = await stopped.get('commit?height=1')
    const validators = await stopped.get('validators?height=1')
    expect(() => verifyBlock({ commit, validators })).toThrow('only 60 of 100 signed')
  })
})
