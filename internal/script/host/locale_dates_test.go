package host

// What Node.js 20 (ICU 78) answers for each expression, with ¦ between the
// answers; L is the locale. ⍽ is a no-break space, ⎵ a narrow one, ⌴ a thin one.
var localeDatesCode = []string{
	`D.toLocaleDateString(L, U)`,
	`D.toLocaleTimeString(L, U)`,
	`D.toLocaleString(L, U)`,
	`E.toLocaleString(L, U)`,
	`D.toLocaleDateString(L, {...U, dateStyle: "full"})`,
	`D.toLocaleDateString(L, {...U, dateStyle: "long"})`,
	`D.toLocaleDateString(L, {...U, dateStyle: "medium"})`,
	`D.toLocaleDateString(L, {...U, dateStyle: "short"})`,
	`D.toLocaleTimeString(L, {...U, timeStyle: "short"})`,
	`D.toLocaleTimeString(L, {...U, timeStyle: "medium"})`,
	`D.toLocaleTimeString(L, {...U, timeStyle: "long"})`,
	`D.toLocaleString(L, {...U, dateStyle: "full", timeStyle: "short"})`,
	`D.toLocaleString(L, {...U, dateStyle: "medium", timeStyle: "medium"})`,
	`D.toLocaleString(L, {...U, dateStyle: "short", timeStyle: "short"})`,
	`D.toLocaleDateString(L, {...U, weekday: "long", year: "numeric", month: "long", day: "numeric"})`,
	`E.toLocaleDateString(L, {...U, weekday: "short", month: "short", day: "numeric"})`,
	`D.toLocaleDateString(L, {...U, year: "numeric", month: "2-digit", day: "2-digit"})`,
	`D.toLocaleDateString(L, {...U, day: "2-digit", month: "2-digit"})`,
	`E.toLocaleDateString(L, {...U, month: "long", year: "numeric"})`,
	`E.toLocaleDateString(L, {...U, month: "short", year: "numeric"})`,
	`D.toLocaleDateString(L, {...U, month: "long"})`,
	`E.toLocaleDateString(L, {...U, month: "short"})`,
	`D.toLocaleDateString(L, {...U, month: "long", day: "numeric"})`,
	`D.toLocaleDateString(L, {...U, weekday: "long"})`,
	`D.toLocaleDateString(L, {...U, weekday: "short"})`,
	`D.toLocaleDateString(L, {...U, year: "2-digit", month: "numeric", day: "numeric"})`,
	`D.toLocaleDateString(L, {...U, year: "numeric"})`,
	`D.toLocaleDateString(L, {...U, day: "numeric"})`,
	`D.toLocaleTimeString(L, {...U, hour: "2-digit", minute: "2-digit"})`,
	`E.toLocaleTimeString(L, {...U, hour: "numeric", minute: "2-digit"})`,
	`D.toLocaleTimeString(L, {...U, hour: "numeric"})`,
	`E.toLocaleTimeString(L, {...U, hour: "2-digit", minute: "2-digit", hour12: true})`,
	`D.toLocaleTimeString(L, {...U, hour12: false})`,
	`D.toLocaleString(L, {...U, day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit"})`,
	`D.toLocaleString(L, {...U, day: "numeric", month: "short", hour: "numeric", minute: "2-digit"})`,
	`D.toLocaleString(L, {timeZone: "Asia/Kolkata", dateStyle: "short", timeStyle: "short"})`,
	`D.toLocaleTimeString(L, {timeZone: "America/New_York", hour: "numeric", minute: "numeric", timeZoneName: "shortOffset"})`,
	`D.toLocaleTimeString(L, {...U, minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3})`,
	`new Intl.DateTimeFormat(L, U).formatToParts(D).map((p) => p.type + "=" + p.value).join(";")`,
}

var localeDates = map[string]string{
	"en-GB": `
05/03/2026¦21:04:06¦05/03/2026, 21:04:06¦30/11/2025, 09:05:00¦Thursday, 5 March 2026¦5 March 2026¦5 Mar 2026¦
05/03/2026¦21:04¦21:04:06¦21:04:06 UTC¦Thursday, 5 March 2026 at 21:04¦5 Mar 2026, 21:04:06¦05/03/2026, 21:04¦
Thursday, 5 March 2026¦Sun 30 Nov¦05/03/2026¦05/03¦November 2025¦Nov 2025¦March¦Nov¦5 March¦Thursday¦Thu¦05/03/26¦
2026¦5¦21:04¦9:05¦21¦09:05 am¦21:04:06¦5 March 2026 at 21:04¦5 Mar, 21:04¦06/03/2026, 02:34¦16:04 GMT-5¦04:06.123¦
day=05;literal=/;month=03;literal=/;year=2026`,
	"de-DE": `
5.3.2026¦21:04:06¦5.3.2026, 21:04:06¦30.11.2025, 09:05:00¦Donnerstag, 5. März 2026¦5. März 2026¦05.03.2026¦05.03.26¦
21:04¦21:04:06¦21:04:06 UTC¦Donnerstag, 5. März 2026 um 21:04¦05.03.2026, 21:04:06¦05.03.26, 21:04¦
Donnerstag, 5. März 2026¦So., 30. Nov.¦05.03.2026¦05.03.¦November 2025¦Nov. 2025¦März¦Nov¦5. März¦Donnerstag¦Do¦
5.3.26¦2026¦5¦21:04¦9:05¦21 Uhr¦09:05 AM¦21:04:06¦5. März 2026 um 21:04¦5. März, 21:04¦06.03.26, 02:34¦16:04 GMT-5¦
04:06,123¦day=5;literal=.;month=3;literal=.;year=2026`,
	"de-AT": `
5.3.2026¦21:04:06¦5.3.2026, 21:04:06¦30.11.2025, 09:05:00¦Donnerstag, 5. März 2026¦5. März 2026¦05.03.2026¦05.03.26¦
21:04¦21:04:06¦21:04:06 UTC¦Donnerstag, 5. März 2026 um 21:04¦05.03.2026, 21:04:06¦05.03.26, 21:04¦
Donnerstag, 5. März 2026¦So., 30. Nov.¦05.03.2026¦05.03.¦November 2025¦Nov. 2025¦März¦Nov¦5. März¦Donnerstag¦Do¦
5.3.26¦2026¦5¦21:04¦9:05¦21 Uhr¦09:05 AM¦21:04:06¦5. März 2026 um 21:04¦5. März, 21:04¦06.03.26, 02:34¦16:04 GMT-5¦
04:06,123¦day=5;literal=.;month=3;literal=.;year=2026`,
	"de-CH": `
5.3.2026¦21:04:06¦5.3.2026, 21:04:06¦30.11.2025, 09:05:00¦Donnerstag, 5. März 2026¦5. März 2026¦05.03.2026¦05.03.26¦
21:04¦21:04:06¦21:04:06 UTC¦Donnerstag, 5. März 2026 um 21:04¦05.03.2026, 21:04:06¦05.03.26, 21:04¦
Donnerstag, 5. März 2026¦So., 30. Nov.¦05.03.2026¦05.03.¦November 2025¦Nov. 2025¦März¦Nov¦5. März¦Donnerstag¦Do¦
5.3.26¦2026¦5¦21:04¦9:05¦21 Uhr¦09:05 AM¦21:04:06¦5. März 2026 um 21:04¦5. März, 21:04¦06.03.26, 02:34¦16:04 GMT-5¦
04:06.123¦day=5;literal=.;month=3;literal=.;year=2026`,
	"fr-FR": `
05/03/2026¦21:04:06¦05/03/2026 21:04:06¦30/11/2025 09:05:00¦jeudi 5 mars 2026¦5 mars 2026¦5 mars 2026¦05/03/2026¦
21:04¦21:04:06¦21:04:06 UTC¦jeudi 5 mars 2026 à 21:04¦5 mars 2026, 21:04:06¦05/03/2026 21:04¦jeudi 5 mars 2026¦
dim. 30 nov.¦05/03/2026¦05/03¦novembre 2025¦nov. 2025¦mars¦nov.¦5 mars¦jeudi¦jeu.¦05/03/26¦2026¦5¦21:04¦9:05¦21 h¦
09:05 AM¦21:04:06¦5 mars 2026 à 21:04¦5 mars, 21:04¦06/03/2026 02:34¦16:04 UTC−5¦04:06,123¦
day=05;literal=/;month=03;literal=/;year=2026`,
	"es-ES": `
5/3/2026¦21:04:06¦5/3/2026, 21:04:06¦30/11/2025, 9:05:00¦jueves, 5 de marzo de 2026¦5 de marzo de 2026¦5 mar 2026¦
5/3/26¦21:04¦21:04:06¦21:04:06 UTC¦jueves, 5 de marzo de 2026, 21:04¦5 mar 2026, 21:04:06¦5/3/26, 21:04¦
jueves, 5 de marzo de 2026¦dom, 30 nov¦05/03/2026¦5/3¦noviembre de 2025¦nov 2025¦marzo¦nov¦5 de marzo¦jueves¦jue¦
5/3/26¦2026¦5¦21:04¦9:05¦21¦09:05 a. m.¦21:04:06¦5 de marzo de 2026 a las 21:04¦5 mar, 21:04¦6/3/26, 2:34¦
16:04 GMT-5¦04:06,123¦day=5;literal=/;month=3;literal=/;year=2026`,
	"es-MX": `
5/3/2026¦9:04:06 p.m.¦5/3/2026, 9:04:06 p.m.¦30/11/2025, 9:05:00 a.m.¦jueves, 5 de marzo de 2026¦5 de marzo de 2026¦
5 mar 2026¦05/03/26¦9:04 p.m.¦9:04:06 p.m.¦9:04:06 p.m. UTC¦jueves, 5 de marzo de 2026, 9:04 p.m.¦
5 mar 2026, 9:04:06 p.m.¦05/03/26, 9:04 p.m.¦jueves, 5 de marzo de 2026¦dom 30 de nov¦05/03/2026¦05/03¦
noviembre de 2025¦nov 2025¦marzo¦nov¦5 de marzo¦jueves¦jue¦5/3/26¦2026¦5¦09:04 p.m.¦9:05 a.m.¦9 p.m.¦09:05 a.m.¦
21:04:06¦5 de marzo de 2026 a las 09:04 p.m.¦5 mar, 9:04 p.m.¦06/03/26, 2:34 a.m.¦4:04 p.m. GMT-5¦04:06.123¦
day=5;literal=/;month=3;literal=/;year=2026`,
	"it-IT": `
05/03/2026¦21:04:06¦05/03/2026, 21:04:06¦30/11/2025, 09:05:00¦giovedì 5 marzo 2026¦5 marzo 2026¦5 mar 2026¦05/03/26¦
21:04¦21:04:06¦21:04:06 UTC¦giovedì 5 marzo 2026 alle ore 21:04¦5 mar 2026, 21:04:06¦05/03/26, 21:04¦
giovedì 5 marzo 2026¦dom 30 nov¦05/03/2026¦05/03¦novembre 2025¦nov 2025¦marzo¦nov¦5 marzo¦giovedì¦gio¦05/03/26¦2026¦
5¦21:04¦9:05¦21¦09:05 AM¦21:04:06¦5 marzo 2026 alle ore 21:04¦5 mar, 21:04¦06/03/26, 02:34¦16:04 GMT-5¦04:06,123¦
day=05;literal=/;month=03;literal=/;year=2026`,
	"pt-BR": `
05/03/2026¦21:04:06¦05/03/2026, 21:04:06¦30/11/2025, 09:05:00¦quinta-feira, 5 de março de 2026¦5 de março de 2026¦
5 de mar. de 2026¦05/03/2026¦21:04¦21:04:06¦21:04:06 UTC¦quinta-feira, 5 de março de 2026 às 21:04¦
5 de mar. de 2026, 21:04:06¦05/03/2026, 21:04¦quinta-feira, 5 de março de 2026¦dom., 30 de nov.¦05/03/2026¦05/03¦
novembro de 2025¦nov. de 2025¦março¦nov.¦5 de março¦quinta-feira¦qui.¦05/03/26¦2026¦5¦21:04¦9:05¦21¦09:05 AM¦
21:04:06¦5 de março de 2026 às 21:04¦5 de mar., 21:04¦06/03/2026, 02:34¦16:04 GMT-5¦04:06,123¦
day=05;literal=/;month=03;literal=/;year=2026`,
	"pt-PT": `
05/03/2026¦21:04:06¦05/03/2026, 21:04:06¦30/11/2025, 09:05:00¦quinta-feira, 5 de março de 2026¦5 de março de 2026¦
05/03/2026¦05/03/26¦21:04¦21:04:06¦21:04:06 UTC¦quinta-feira, 5 de março de 2026 às 21:04¦05/03/2026, 21:04:06¦
05/03/26, 21:04¦quinta-feira, 5 de março de 2026¦domingo, 30/11¦05/03/2026¦05/03¦novembro de 2025¦11/2025¦março¦nov.¦
5 de março¦quinta-feira¦quinta¦05/03/26¦2026¦5¦21:04¦9:05¦21¦09:05 a.m.¦21:04:06¦5 de março de 2026 às 21:04¦
5/03, 21:04¦06/03/26, 02:34¦16:04 GMT-5¦04:06,123¦day=05;literal=/;month=03;literal=/;year=2026`,
	"nl-NL": `
5-3-2026¦21:04:06¦5-3-2026, 21:04:06¦30-11-2025, 09:05:00¦donderdag 5 maart 2026¦5 maart 2026¦5 mrt 2026¦05-03-2026¦
21:04¦21:04:06¦21:04:06 UTC¦donderdag 5 maart 2026 om 21:04¦5 mrt 2026, 21:04:06¦05-03-2026, 21:04¦
donderdag 5 maart 2026¦zo 30 nov¦05-03-2026¦05-03¦november 2025¦nov 2025¦maart¦nov¦5 maart¦donderdag¦do¦5-3-26¦2026¦
5¦21:04¦9:05¦21¦09:05 a.m.¦21:04:06¦5 maart 2026 om 21:04¦5 mrt, 21:04¦06-03-2026, 02:34¦16:04 GMT-5¦04:06,123¦
day=5;literal=-;month=3;literal=-;year=2026`,
	"sv-SE": `
2026-03-05¦21:04:06¦2026-03-05 21:04:06¦2025-11-30 09:05:00¦torsdag 5 mars 2026¦5 mars 2026¦5 mars 2026¦2026-03-05¦
21:04¦21:04:06¦21:04:06 UTC¦torsdag 5 mars 2026 kl. 21:04¦5 mars 2026 21:04:06¦2026-03-05 21:04¦torsdag 5 mars 2026¦
sön 30 nov.¦2026-03-05¦05/03¦november 2025¦nov. 2025¦mars¦nov.¦5 mars¦torsdag¦tors¦26-03-05¦2026¦5¦21:04¦9:05¦21¦
09:05 fm¦21:04:06¦5 mars 2026 kl. 21:04¦5 mars 21:04¦2026-03-06 02:34¦16:04 GMT−5¦04:06,123¦
year=2026;literal=-;month=03;literal=-;day=05`,
	"da-DK": `
5.3.2026¦21.04.06¦5.3.2026, 21.04.06¦30.11.2025, 09.05.00¦torsdag den 5. marts 2026¦5. marts 2026¦5. mar. 2026¦
05.03.2026¦21.04¦21.04.06¦21.04.06 UTC¦torsdag den 5. marts 2026 kl. 21.04¦5. mar. 2026, 21.04.06¦05.03.2026, 21.04¦
torsdag den 5. marts 2026¦søn. 30. nov.¦05.03.2026¦05.03¦november 2025¦nov. 2025¦marts¦nov.¦5. marts¦torsdag¦tors.¦
5.3.26¦2026¦5.¦21.04¦9.05¦21¦09.05 AM¦21.04.06¦5. marts 2026 kl. 21.04¦5. mar., 21.04¦06.03.2026, 02.34¦16.04 GMT-5¦
04.06,123¦day=5;literal=.;month=3;literal=.;year=2026`,
	"nb-NO": `
5.3.2026¦21:04:06¦5.3.2026, 21:04:06¦30.11.2025, 09:05:00¦torsdag 5. mars 2026¦5. mars 2026¦5. mars 2026¦05.03.2026¦
21:04¦21:04:06¦21:04:06 UTC¦torsdag 5. mars 2026 kl. 21:04¦5. mars 2026, 21:04:06¦05.03.2026, 21:04¦
torsdag 5. mars 2026¦søn. 30. nov.¦05.03.2026¦5.3.¦november 2025¦nov. 2025¦mars¦nov¦5. mars¦torsdag¦tor.¦5.3.26¦2026¦
5.¦21:04¦9:05¦21¦09:05 a.m.¦21:04:06¦5. mars 2026 kl. 21:04¦5. mars, 21:04¦06.03.2026, 02:34¦16:04 GMT-5¦04:06,123¦
day=5;literal=.;month=3;literal=.;year=2026`,
	"fi-FI": `
5.3.2026¦21.04.06¦5.3.2026 klo 21.04.06¦30.11.2025 klo 9.05.00¦torstai 5. maaliskuuta 2026¦5. maaliskuuta 2026¦
5.3.2026¦5.3.2026¦21.04¦21.04.06¦21.04.06 UTC¦torstai 5. maaliskuuta 2026 klo 21.04¦5.3.2026 klo 21.04.06¦
5.3.2026 klo 21.04¦torstaina 5. maaliskuuta 2026¦su 30.11.¦05.03.2026¦05.03.¦marraskuu 2025¦marras 2025¦maaliskuu¦
marras¦5. maaliskuuta¦torstai¦to¦5.3.26¦2026¦5¦21.04¦9.05¦21¦09.05 ap.¦21.04.06¦5. maaliskuuta 2026 klo 21.04¦
5.3. klo 21.04¦6.3.2026 klo 2.34¦16.04 UTC-5¦4.06,123¦day=5;literal=.;month=3;literal=.;year=2026`,
	"pl-PL": `
5.03.2026¦21:04:06¦5.03.2026, 21:04:06¦30.11.2025, 09:05:00¦czwartek, 5 marca 2026¦5 marca 2026¦5 mar 2026¦5.03.2026¦
21:04¦21:04:06¦21:04:06 UTC¦czwartek, 5 marca 2026 21:04¦5 mar 2026, 21:04:06¦5.03.2026, 21:04¦
czwartek, 5 marca 2026¦niedz., 30 lis¦05.03.2026¦05.03¦listopad 2025¦lis 2025¦marzec¦lis¦5 marca¦czwartek¦czw.¦
5.03.26¦2026¦5¦21:04¦9:05¦21¦09:05 AM¦21:04:06¦5 marca 2026 21:04¦5 mar, 21:04¦6.03.2026, 02:34¦16:04 GMT-5¦
04:06,123¦day=5;literal=.;month=03;literal=.;year=2026`,
	"cs-CZ": `
5. 3. 2026¦21:04:06¦5. 3. 2026 21:04:06¦30. 11. 2025 9:05:00¦čtvrtek 5. března 2026¦5. března 2026¦5. 3. 2026¦
05.03.26¦21:04¦21:04:06¦21:04:06 UTC¦čtvrtek 5. března 2026 v 21:04¦5. 3. 2026 21:04:06¦05.03.26 21:04¦
čtvrtek 5. března 2026¦ne 30. 11.¦05. 03. 2026¦05. 03.¦listopad 2025¦listopad 2025¦březen¦lis¦5. března¦čtvrtek¦čt¦
5. 3. 26¦2026¦5.¦21:04¦9:05¦21¦09:05 dop.¦21:04:06¦5. března 2026 v 21:04¦5. 3. 21:04¦06.03.26 2:34¦16:04 GMT-5¦
04:06,123¦day=5;literal=. ;month=3;literal=. ;year=2026`,
	"tr-TR": `
05.03.2026¦21:04:06¦05.03.2026 21:04:06¦30.11.2025 09:05:00¦5 Mart 2026 Perşembe¦5 Mart 2026¦5 Mar 2026¦5.03.2026¦
21:04¦21:04:06¦21:04:06 UTC¦5 Mart 2026 Perşembe 21:04¦5 Mar 2026 21:04:06¦5.03.2026 21:04¦5 Mart 2026 Perşembe¦
30 Kas Paz¦05.03.2026¦05/03¦Kasım 2025¦Kas 2025¦Mart¦Kas¦5 Mart¦Perşembe¦Per¦05.03.26¦2026¦5¦21:04¦9:05¦21¦ÖÖ 09:05¦
21:04:06¦5 Mart 2026 21:04¦5 Mar 21:04¦6.03.2026 02:34¦16:04 GMT-5¦04:06,123¦
day=05;literal=.;month=03;literal=.;year=2026`,
	"ru-RU": `
05.03.2026¦21:04:06¦05.03.2026, 21:04:06¦30.11.2025, 09:05:00¦четверг, 5 марта 2026 г.¦5 марта 2026 г.¦
5 мар. 2026 г.¦05.03.2026¦21:04¦21:04:06¦21:04:06 UTC¦четверг, 5 марта 2026 г. в 21:04¦5 мар. 2026 г., 21:04:06¦
05.03.2026, 21:04¦четверг, 5 марта 2026 г.¦вс, 30 нояб.¦05.03.2026¦05.03¦ноябрь 2025 г.¦нояб. 2025 г.¦март¦нояб.¦
5 марта¦четверг¦чт¦05.03.26¦2026¦5¦21:04¦9:05¦21¦09:05 AM¦21:04:06¦5 марта 2026 г. в 21:04¦5 мар., 21:04¦
06.03.2026, 02:34¦16:04 GMT-5¦04:06,123¦day=05;literal=.;month=03;literal=.;year=2026`,
	"uk-UA": `
05.03.2026¦21:04:06¦05.03.2026, 21:04:06¦30.11.2025, 09:05:00¦четвер, 5 березня 2026 р.¦5 березня 2026 р.¦
5 бер. 2026 р.¦05.03.26¦21:04¦21:04:06¦21:04:06 UTC¦четвер, 5 березня 2026 р. о 21:04¦5 бер. 2026 р., 21:04:06¦
05.03.26, 21:04¦четвер, 5 березня 2026 р.¦нд, 30 лист.¦05.03.2026¦05.03¦листопад 2025 р.¦лист. 2025 р.¦березень¦
лист.¦5 березня¦четвер¦чт¦05.03.26¦2026¦5¦21:04¦9:05¦21¦09:05 дп¦21:04:06¦5 березня 2026 р. о 21:04¦5 бер., 21:04¦
06.03.26, 02:34¦16:04 GMT-5¦04:06,123¦day=05;literal=.;month=03;literal=.;year=2026`,
	"ja-JP": `
2026/3/5¦21:04:06¦2026/3/5 21:04:06¦2025/11/30 9:05:00¦2026年3月5日木曜日¦2026年3月5日¦2026/03/05¦2026/03/05¦21:04¦21:04:06¦
21:04:06 UTC¦2026年3月5日木曜日 21:04¦2026/03/05 21:04:06¦2026/03/05 21:04¦2026年3月5日木曜日¦11月30日(日)¦2026/03/05¦03/05¦
2025年11月¦2025年11月¦3月¦11月¦3月5日¦木曜日¦木¦26/3/5¦2026年¦5日¦21:04¦9:05¦21時¦午前09:05¦21:04:06¦2026年3月5日 21:04¦3月5日 21:04¦
2026/03/06 2:34¦16:04 GMT-5¦04:06.123¦year=2026;literal=/;month=3;literal=/;day=5`,
	"ko-KR": `
2026. 3. 5.¦PM 9:04:06¦2026. 3. 5. PM 9:04:06¦2025. 11. 30. AM 9:05:00¦2026년 3월 5일 목요일¦2026년 3월 5일¦2026. 3. 5.¦
26. 3. 5.¦PM 9:04¦PM 9:04:06¦PM 9시 4분 6초 UTC¦2026년 3월 5일 목요일 PM 9:04¦2026. 3. 5. PM 9:04:06¦26. 3. 5. PM 9:04¦
2026년 3월 5일 목요일¦11월 30일 (일)¦2026. 03. 05.¦03. 05.¦2025년 11월¦2025년 11월¦3월¦11월¦3월 5일¦목요일¦목¦26. 3. 5.¦2026년¦5일¦PM 09:04¦
AM 9:05¦PM 9시¦AM 09:05¦21시 4분 6초¦2026년 3월 5일 PM 09:04¦3월 5일 PM 9:04¦26. 3. 6. AM 2:34¦PM 4:04 GMT-5¦04:06.123¦
year=2026;literal=. ;month=3;literal=. ;day=5;literal=.`,
	"zh-CN": `
2026/3/5¦21:04:06¦2026/3/5 21:04:06¦2025/11/30 09:05:00¦2026年3月5日星期四¦2026年3月5日¦2026年3月5日¦2026/3/5¦21:04¦21:04:06¦
UTC 21:04:06¦2026年3月5日星期四 21:04¦2026年3月5日 21:04:06¦2026/3/5 21:04¦2026年3月5日星期四¦11月30日周日¦2026/03/05¦03/05¦2025年11月¦
2025年11月¦三月¦11月¦3月5日¦星期四¦周四¦26/3/5¦2026年¦5日¦21:04¦9:05¦21时¦上午09:05¦21:04:06¦2026年3月5日 21:04¦3月5日 21:04¦
2026/3/6 02:34¦GMT-5 16:04¦04:06.123¦year=2026;literal=/;month=3;literal=/;day=5`,
	"zh-TW": `
2026/3/5¦下午9:04:06¦2026/3/5⌴下午9:04:06¦2025/11/30⌴上午9:05:00¦2026年3月5日 星期四¦2026年3月5日¦2026年3月5日¦2026/3/5¦晚上9:04¦
晚上9:04:06¦晚上9:04:06 [UTC]¦2026年3月5日 星期四 晚上9:04¦2026年3月5日 晚上9:04:06¦2026/3/5⌴晚上9:04¦2026年3月5日星期四¦11月30日週日¦2026/03/05¦
03/05¦2025年11月¦2025年11月¦3月¦11月¦3月5日¦星期四¦週四¦26/3/5¦2026年¦5日¦下午09:04¦上午9:05¦下午9時¦上午09:05¦21:04:06¦2026年3月5日 下午09:04¦
3月5日 下午9:04¦2026/3/6⌴凌晨2:34¦下午4:04 [GMT-5]¦04:06.123¦year=2026;literal=/;month=3;literal=/;day=5`,
	"hi-IN": `
5/3/2026¦9:04:06 pm¦5/3/2026, 9:04:06 pm¦30/11/2025, 9:05:00 am¦गुरुवार, 5 मार्च 2026¦5 मार्च 2026¦5 मार्च 2026¦
5/3/26¦9:04 pm¦9:04:06 pm¦9:04:06 pm UTC¦गुरुवार, 5 मार्च 2026 को 9:04 pm बजे¦5 मार्च 2026, 9:04:06 pm¦
5/3/26, 9:04 pm¦गुरुवार, 5 मार्च 2026¦रवि, 30 नव॰¦05/03/2026¦05/03¦नवंबर 2025¦नव॰ 2025¦मार्च¦नव॰¦5 मार्च¦गुरुवार¦
गुरु¦5/3/26¦2026¦5¦09:04 pm¦9:05 am¦9 pm¦09:05 am¦21:04:06¦5 मार्च 2026 को 09:04 pm बजे¦5 मार्च, 9:04 pm¦
6/3/26, 2:34 am¦4:04 pm GMT-5¦04:06.123¦day=5;literal=/;month=3;literal=/;year=2026`,
}
