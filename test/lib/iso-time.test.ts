import t from 'tap'
import { timeOf } from '../../lib/iso-time'

t.test('a date is its midnight in UTC, and a time is read in its zone', async t => {
  t.equal(timeOf('2027-01-31'), Date.UTC(2027, 0, 31))
  t.equal(timeOf('2028-02-29'), Date.UTC(2028, 1, 29), 'a leap year')
  t.equal(timeOf('2027-01-31T09:30Z'), Date.UTC(2027, 0, 31, 9, 30))
  t.equal(timeOf('2027-01-31T09:30:15.250+02:00'), Date.UTC(2027, 0, 31, 7, 30, 15, 250))
})

t.test('a day that its month does not have is no time, and neither is what says no zone or is something else', async t => {
  for (const text of ['2027-02-29', '2027-02-30', '2027-04-31T10:00Z', '2027-13-01', '2027-00-10', '2027-01-00', '2027-01-32', '2027-01-31T25:00Z',
    '2027-01-31T09:30', '2027', '2027-1-31', 'Mar 7 2027', '1800000000', '', ' 2027-01-31', '+002027-01-31']) t.ok(Number.isNaN(timeOf(text)), text)
})
