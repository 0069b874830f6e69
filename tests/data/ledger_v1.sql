BEGIN TRANSACTION;
CREATE TABLE ace_meta (
	"key" VARCHAR NOT NULL, 
	value VARCHAR NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "ace_meta" VALUES('schema','1');
CREATE TABLE adjustments (
	number INTEGER NOT NULL, 
	bullet INTEGER NOT NULL, 
	helpful INTEGER NOT NULL, 
	harmful INTEGER NOT NULL, 
	selected INTEGER NOT NULL, 
	at VARCHAR NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "adjustments" VALUES(1,2,1,0,1,'2026-11-15T04:45:41.084378+00:00');
CREATE TABLE bullets (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	node VARCHAR NOT NULL, 
	content VARCHAR NOT NULL, 
	condition JSON, 
	source VARCHAR NOT NULL, 
	problem_types JSON NOT NULL, 
	confidence FLOAT NOT NULL, 
	status VARCHAR NOT NULL, 
	proof VARCHAR NOT NULL, 
	evidence JSON NOT NULL, 
	origin JSON NOT NULL, 
	related JSON NOT NULL, 
	weight FLOAT, 
	helpful_count INTEGER NOT NULL, 
	harmful_count INTEGER NOT NULL, 
	times_selected INTEGER NOT NULL, 
	created_at VARCHAR NOT NULL
);
INSERT INTO "bullets" VALUES(1,'fraud_detection','DECLINE when amount >= 100','{"verdict": "DECLINE", "all": [{"field": "amount", "op": ">=", "value": 100}]}','offline','["amount"]',0.5,'active','unproven','{"fires": 3, "precision": 0.75}','{"decision": "d0"}','[]',1.5,1,1,2,'2026-11-15T04:45:41.061747+00:00');
INSERT INTO "bullets" VALUES(2,'fraud_detection','Watch for gift cards bought at night.',NULL,'online','[]',0.8,'active','unproven','{}','{}','[]',NULL,1,1,2,'2026-11-15T04:45:41.065180+00:00');
INSERT INTO "bullets" VALUES(3,'fraud_detection','APPROVE when amount < 5','{"verdict": "APPROVE", "all": [{"field": "amount", "op": "<", "value": 5}]}','online','[]',0.5,'retired','unproven','{}','{}','[]',NULL,0,0,0,'2026-11-15T04:45:41.066497+00:00');
CREATE TABLE cases (
	id VARCHAR NOT NULL, 
	node VARCHAR NOT NULL, 
	text VARCHAR NOT NULL, 
	fields JSON NOT NULL, 
	digest VARCHAR NOT NULL, 
	evidence BOOLEAN NOT NULL, 
	created_at VARCHAR NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "cases" VALUES('h0','fraud_detection','amount: 0','{"amount": 0.0}','digest0',1,'2026-11-15T04:45:41.067730+00:00');
INSERT INTO "cases" VALUES('h1','fraud_detection','amount: 30','{"amount": 30.0}','digest1',1,'2026-11-15T04:45:41.067730+00:00');
INSERT INTO "cases" VALUES('h2','fraud_detection','amount: 60','{"amount": 60.0}','digest2',1,'2026-11-15T04:45:41.067730+00:00');
INSERT INTO "cases" VALUES('h3','fraud_detection','amount: 90','{"amount": 90.0}','digest3',1,'2026-11-15T04:45:41.067730+00:00');
INSERT INTO "cases" VALUES('h4','fraud_detection','amount: 120','{"amount": 120.0}','digest4',1,'2026-11-15T04:45:41.067730+00:00');
INSERT INTO "cases" VALUES('d1','fraud_detection','amount: 120','{"amount": 120}','af0c97375dc5f2f300b1d47c1a0a2c97dbfb8f0ac8177cf65d744b71b4536322',1,'2026-11-15T04:45:41.072878+00:00');
INSERT INTO "cases" VALUES('d2','fraud_detection','amount: 140','{"amount": 140}','6e49e64f8447b58e956e5602bba74ddaedda60368e168f48483bcdb1180e4685',1,'2026-11-15T04:45:41.079812+00:00');
INSERT INTO "cases" VALUES('d3','fraud_detection','amount: 3','{"amount": 3}','370dd44b9419d1dbb2be4349c45bcd0354c4fb792ea8b5b514d8c0ee867329b7',1,'2026-11-15T04:45:41.082612+00:00');
INSERT INTO "cases" VALUES('d4','fraud_detection','amount: 4','{"amount": 4}','81d5945698598f1e60193f89c910b17898b91b543221d20b0b08e2e5b6bb40e9',0,'2026-11-15T04:45:41.083207+00:00');
CREATE TABLE decisions (
	"case" VARCHAR NOT NULL, 
	node VARCHAR NOT NULL, 
	decision VARCHAR NOT NULL, 
	risk_score FLOAT, 
	reasons JSON NOT NULL, 
	settings JSON NOT NULL, 
	playbook_version INTEGER NOT NULL, 
	counted BOOLEAN NOT NULL, 
	decided_at VARCHAR NOT NULL, 
	right_number INTEGER, 
	lesson JSON, 
	PRIMARY KEY ("case")
);
INSERT INTO "decisions" VALUES('d1','fraud_detection','DECLINE',NULL,'[]','{}',0,1,'2026-11-15T04:45:41.073373+00:00',1,NULL);
INSERT INTO "decisions" VALUES('d2','fraud_detection','DECLINE',NULL,'["because"]','{"node": "fraud_detection", "seed": 3}',3,1,'2026-11-15T04:45:41.079929+00:00',2,'{"action": "refused", "reason": "nothing"}');
INSERT INTO "decisions" VALUES('d3','fraud_detection','DECLINE',NULL,'[]','{}',0,1,'2026-11-15T04:45:41.082706+00:00',NULL,NULL);
INSERT INTO "decisions" VALUES('d4','fraud_detection','DECLINE',NULL,'[]','{}',0,0,'2026-11-15T04:45:41.083286+00:00',NULL,NULL);
CREATE TABLE embeddings (
	bullet INTEGER NOT NULL, 
	model VARCHAR NOT NULL, 
	vector BLOB NOT NULL, 
	PRIMARY KEY (bullet, model)
);
INSERT INTO "embeddings" VALUES(1,'m',X'0000803F0000803F0000803F');
CREATE TABLE history (
	version INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at VARCHAR NOT NULL, 
	bullet INTEGER NOT NULL, 
	change VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	content VARCHAR NOT NULL, 
	condition JSON, 
	status VARCHAR NOT NULL
);
INSERT INTO "history" VALUES(1,'2026-11-15T04:45:41.063798+00:00',1,'added','added','offline','DECLINE when amount >= 100','{"verdict": "DECLINE", "all": [{"field": "amount", "op": ">=", "value": 100}]}','active');
INSERT INTO "history" VALUES(2,'2026-11-15T04:45:41.065965+00:00',2,'added','added','online','Watch for gift cards bought at night.',NULL,'active');
INSERT INTO "history" VALUES(3,'2026-11-15T04:45:41.067155+00:00',3,'added','added','online','APPROVE when amount < 5','{"verdict": "APPROVE", "all": [{"field": "amount", "op": "<", "value": 5}]}','active');
INSERT INTO "history" VALUES(4,'2026-11-15T04:45:41.086246+00:00',3,'retired','tired','user','APPROVE when amount < 5','{"verdict": "APPROVE", "all": [{"field": "amount", "op": "<", "value": 5}]}','retired');
CREATE TABLE outcomes (
	"case" VARCHAR NOT NULL, 
	revision INTEGER NOT NULL, 
	label VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	known_at VARCHAR NOT NULL, 
	PRIMARY KEY ("case", revision)
);
INSERT INTO "outcomes" VALUES('h0',1,'APPROVE','history','2026-11-15T04:45:41.067730+00:00');
INSERT INTO "outcomes" VALUES('h1',1,'APPROVE','history','2026-11-15T04:45:41.067730+00:00');
INSERT INTO "outcomes" VALUES('h2',1,'APPROVE','history','2026-11-15T04:45:41.067730+00:00');
INSERT INTO "outcomes" VALUES('h3',1,'DECLINE','history','2026-11-15T04:45:41.067730+00:00');
INSERT INTO "outcomes" VALUES('h4',1,'DECLINE','history','2026-11-15T04:45:41.067730+00:00');
INSERT INTO "outcomes" VALUES('d1',1,'DECLINE','label','2026-11-15T04:45:41.076040+00:00');
INSERT INTO "outcomes" VALUES('d2',1,'DECLINE','label','2026-11-15T04:45:41.081213+00:00');
INSERT INTO "outcomes" VALUES('d2',2,'APPROVE','chargeback','2026-11-01T00:00:00+00:00');
INSERT INTO "outcomes" VALUES('d4',1,'APPROVE','label','2026-11-15T04:45:41.083477+00:00');
CREATE TABLE selections (
	"case" VARCHAR NOT NULL, 
	bullet INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	selected BOOLEAN NOT NULL, 
	credited BOOLEAN NOT NULL, 
	verdict VARCHAR, 
	PRIMARY KEY ("case", bullet)
);
INSERT INTO "selections" VALUES('d1',1,0,1,1,'DECLINE');
INSERT INTO "selections" VALUES('d2',1,0,1,1,'DECLINE');
INSERT INTO "selections" VALUES('d2',2,1,1,1,'DECLINE');
INSERT INTO "selections" VALUES('d4',3,0,1,1,'DECLINE');
CREATE INDEX ix_bullets_node ON bullets (node);
CREATE INDEX ix_cases_node ON cases (node);
CREATE INDEX decisions_right ON decisions (node, right_number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('bullets',3);
INSERT INTO "sqlite_sequence" VALUES('history',4);
COMMIT;
