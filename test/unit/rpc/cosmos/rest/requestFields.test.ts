import { describe, expect, it } from 'vitest'
import { PageRequest } from '../../../../../src/modules/pagination.ts'
import {
  bool,
  bytes,
  defineMessage,
  enumeration,
  int64,
  message,
  repeated,
  string,
  uint64,
} from '../../../../../src/primitives/protoSchema.ts'
import { requestJson } from '../../../../../src/rpc/cosmos/rest/requestFields.ts'

const Request = defineMessage('test.Request', {
  proposalId: uint64(1),
  height: int64(2),
  name: string(3),
  denoms: repeated(string(4)),
  prove: bool(5),
  data: bytes(6),
  status: enumeration(7, { NONE: 0, SOME: 1 }),
  pagination: message(8, PageRequest),
})

function read(search: string, captures: Record<string, string> = {}): unknown {
  const json = requestJson(Request, new Map(Object.entries(captures)), new URLSearchParams(search))
  return Request.fromJson(json, { typeOf: () => undefined })
}

const of = (values: Partial<ReturnType<typeof Request.create>>) => Request.create(values)
const page = (values: Partial<PageRequest>) => of({ pagination: PageRequest.create(values) })

describe('fields from paths and query strings', () => {
  it.each<[search: string, captures: Record<string, string>, expected: unknown]>([
    ['', {}, of({})],
    ['proposal_id=5', {}, of({ proposalId: 5n })],
    ['proposalId=18446744073709551615', {}, of({ proposalId: 2n ** 64n - 1n })],
    ['height=-3', {}, of({ height: -3n })],
    ['name=a%20b%2Bc', {}, of({ name: 'a b+c' })],
    ['name=first&name=second', {}, of({ name: 'first' })],
    ['denoms=a&denoms=b', {}, of({ denoms: ['a', 'b'] })],
    ['prove=true', {}, of({ prove: true })],
    ['prove=1', {}, of({ prove: true })],
    ['prove=F', {}, of({})],
    ['data=AQI%3D', {}, of({ data: Uint8Array.of(1, 2) })],
    ['data=_w%3D%3D', {}, of({ data: Uint8Array.of(255) })],
    ['status=SOME', {}, of({ status: 1 })],
    ['status=1', {}, of({ status: 1 })],
    ['pagination.limit=5&pagination.reverse=true', {}, page({ limit: 5n, reverse: true })],
    ['pagination.key=AQI%3D&pagination.count_total=t', {}, page({ key: Uint8Array.of(1, 2), countTotal: true })],
    ['pagination.countTotal=1', {}, page({ countTotal: true })],
    // What the message does not have is left out, as grpc-gateway does.
    ['foo=1&pagination.foo=1&a.b.c.d.e.f=1&__proto__=1&constructor=1&proposal_id.x=1', {}, page({})],
    ['pagination=5', {}, of({})],
    // What the path says counts.
    ['proposal_id=6&proposalId=7', { proposal_id: '5' }, of({ proposalId: 5n })],
  ])('%s', (search, captures, expected) => {
    expect(read(search, captures)).toEqual(expected)
  })

  it.each([
    'proposal_id=-1',
    'proposal_id=18446744073709551616',
    'proposal_id=1.5',
    'proposal_id=0x5',
    'proposal_id=',
    'proposal_id=abc',
    'height=9223372036854775808',
    'height=-9223372036854775809',
    'prove=yes',
    'prove=',
    'data=%21%21',
    'status=OTHER',
    'pagination.limit=-1',
    'pagination.offset=99999999999999999999',
    'pagination.key=***',
  ])('refuse %s', (search) => {
    expect(() => read(search)).toThrow(/expected/)
  })
})
