import { describe, expect, it } from 'vitest'
import { checkPage, countWords, splitPassages, splitSentences } from '../../../scripts/checkWords.ts'

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')

describe('checkWords', () => {
  it('splits a page into passages, without code', () => {
    const page =
      '# Title\n\nOne\ntwo.\n- item\n  more\n1. first\n\n```sh\ncode\n```\n\n| a | b |\n|---|---|\n| c `x\\|y` | d |\n'
    expect(splitPassages(page).map(({ line, text }) => [line, text])).toEqual([
      [1, 'Title'],
      [3, 'One two.'],
      [5, 'item more'],
      [7, 'first'],
      [13, 'a'],
      [13, 'b'],
      [15, 'c `x\\|y`'],
      [15, 'd'],
    ])
  })

  it.each([
    ['One. Two! Three?', ['One.', 'Two!', 'Three?']],
    ['Version 1.5 of e.g. Node.js runs.', ['Version 1.5 of e.g.\u00a0Node.js runs.']],
    ['It ends (here.) “So.” 5 follow.', ['It ends (here.)', '“So.”', '5 follow.']],
    ['**Bold.** `code` follows.', ['**Bold.**', '`code` follows.']],
    ['One; two: three.', ['One; two: three.']],
  ])('splits %s', (text, sentences) => {
    expect(splitSentences(text)).toEqual(sentences)
  })

  it('counts words, not dashes', () => {
    expect(countWords('a – b → 3 %')).toBe(3)
  })

  it.each([
    [`${words(35)}.`, 0],
    [`${words(36)}.`, 1],
    [Array.from({ length: 4 }, () => `W${words(29)}.`).join(' '), 0],
    [Array.from({ length: 5 }, () => `W${words(29)}.`).join(' '), 1],
    [`| ${Array.from({ length: 5 }, () => `W${words(29)}.`).join(' ')} |`, 0],
    [`| ${words(36)} |`, 1],
    ['Nobody goes on for ever.', 3],
    ['`nobody` continues.', 0],
  ])('checks %s', (page, findings) => {
    expect(checkPage(page)).toHaveLength(findings)
  })
})
