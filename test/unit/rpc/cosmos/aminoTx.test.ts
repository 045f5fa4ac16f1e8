import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { ProtobufError } from '../../../../src/primitives/protobuf.ts'
import { JsonFormError } from '../../../../src/primitives/protoScalars.ts'
import { aminoBinaryToJson, aminoJsonToBinary } from '../../../../src/rpc/cosmos/aminoTx.ts'
import { runs } from '../../../propertyRuns.ts'

/** Written by the legacy amino codec of cosmos-sdk 0.53.4. */
interface Vector {
  readonly name: string
  readonly json: string
  readonly binary: string
}
const VECTORS = JSON.parse(
  readFileSync(new URL('../../../support/rpc/cosmos/aminoTransactions.json', import.meta.url), 'utf8'),
) as readonly Vector[]

describe('a transaction in amino', () => {
  it.each(VECTORS)('$name is that of the Cosmos SDK in both forms', ({ json, binary }) => {
    expect(bytesToHex(aminoJsonToBinary(json)).slice(2)).toBe(binary)
    expect(JSON.parse(aminoBinaryToJson(hexToBytes(`0x${binary}`)))).toEqual(JSON.parse(json))
  })

  it('that is none is an error of the request', () => {
    const isRefused = (read: () => unknown): void => {
      try {
        read()
      } catch (error) {
        const isExpected =
          error instanceof ProtobufError || error instanceof JsonFormError || error instanceof SyntaxError
        if (!isExpected) throw error
      }
    }
    const vectors = VECTORS.map(({ binary }) => hexToBytes(`0x${binary}`))
    fc.assert(
      fc.property(fc.constantFrom(...vectors), fc.nat(), fc.nat(255), (binary, place, byte) => {
        const changed = binary.slice()
        changed[place % binary.length] = byte
        isRefused(() => aminoBinaryToJson(changed))
        isRefused(() => aminoBinaryToJson(binary.subarray(0, place % binary.length)))
      }),
      { numRuns: runs(500) },
    )
    for (const text of ['{', 'null', '{"type":"cosmos-sdk/StdTx","value":5}', '{"type":"x"}']) {
      expect(() => aminoJsonToBinary(text)).toThrow()
      isRefused(() => aminoJsonToBinary(text))
    }
    // Each level is encoded once, or thirty would take hours.
    const plan = '{"type":"cosmos-sdk/MsgSoftwareUpgrade","value":{"plan":{"name":"b","upgraded_client_state":'
    const leaf = '{"type":"cosmos-sdk/GenericAuthorization","value":{"msg":"x"}}'
    const plans = `{"type":"cosmos-sdk/StdTx","value":{"msg":[${plan.repeat(30)}${leaf}${'}}}'.repeat(30)}]}}`
    expect(aminoJsonToBinary(plans).length).toBeGreaterThan(100)
    // Messages inside of one another.
    const levels = 3_000
    const exec = '{"type":"cosmos-sdk/MsgExec","value":{"grantee":"a","msgs":['
    const deep = `{"type":"cosmos-sdk/StdTx","value":{"msg":[${exec.repeat(levels)}${']}}'.repeat(levels)}]}}`
    expect(() => aminoJsonToBinary(deep)).toThrow('nested too deeply')
  })
})
