import { describe, expect, it } from 'vitest'
import { defineQuery } from '../../../../../src/modules/query/query.ts'
import { string } from '../../../../../src/primitives/protoSchema.ts'
import { createQueryTable } from '../../../../../src/rpc/cosmos/queryPort.ts'
import { createRestRouter } from '../../../../../src/rpc/cosmos/rest/routes.ts'

function query(name: string, get: readonly string[], post: readonly string[] = []) {
  const response = { text: string(1) }
  return defineQuery({ service: 'test.Query', name, get, post, request: {}, response, run: () => ({ text: '' }) })
}

const router = createRestRouter(
  createQueryTable([
    query('One', ['/a/{name}']),
    query('Latest', ['/a/latest']),
    query('Inner', ['/a/{name}/b/{key}', '/other/{key}']),
    query('LatestInner', ['/a/latest/c']),
    query('Rest', ['/r/{denom=**}']),
    query('Posted', ['/p'], ['/p']),
  ]),
)

describe('paths', () => {
  it.each<[method: string, path: string, expected: [name: string, captures: Record<string, string>] | undefined]>([
    ['GET', '/a/x', ['One', { name: 'x' }]],
    ['GET', '/a/latest', ['Latest', {}]],
    ['GET', '/a/latest/b/k', ['Inner', { name: 'latest', key: 'k' }]],
    ['GET', '/a/latest/c', ['LatestInner', {}]],
    ['GET', '/a/x/b/k', ['Inner', { name: 'x', key: 'k' }]],
    ['GET', '/other/k', ['Inner', { key: 'k' }]],
    ['GET', '/a/100%25%2Fx%20y', ['One', { name: '100%/x y' }]],
    ['GET', '/r/factory/coin1/x', ['Rest', { denom: 'factory/coin1/x' }]],
    ['GET', '/r/ibc%2FABC', ['Rest', { denom: 'ibc/ABC' }]],
    ['GET', '/p', ['Posted', {}]],
    ['POST', '/p', ['Posted', {}]],
    ['GET', '/a/', ['One', { name: '' }]],
    ['GET', '/a', undefined],
    ['GET', '/a/x/', undefined],
    ['GET', '/a//b/k', undefined],
    ['GET', '/r/', ['Rest', { denom: '' }]],
    ['GET', '/a/latest/', undefined],
    ['GET', '/a/x/b/', ['Inner', { name: 'x', key: '' }]],
    ['GET', '//', undefined],
    ['GET', '/A/x', undefined],
    ['GET', '/a/%zz', undefined],
    ['GET', '/a/%ff', undefined],
    ['GET', '/a/x/c', undefined],
    ['POST', '/a/x', undefined],
    ['DELETE', '/a/x', undefined],
    ['GET', '', undefined],
    ['GET', '/constructor', undefined],
  ])('%s %s', (method, path, expected) => {
    const match = router.match(method, path)
    expect(match && [match.query.path.slice('/test.Query/'.length), Object.fromEntries(match.captures)]).toEqual(
      expected,
    )
  })

  it('of two queries must differ', () => {
    const table = createQueryTable([query('A', ['/x/{a}']), query('B', ['/x/{b}'])])
    expect(() => createRestRouter(table)).toThrow('two queries are at GET /x/{b}')
  })
})
